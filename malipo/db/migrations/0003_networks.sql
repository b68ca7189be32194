-- What is still to be done about a payment at its network, what the networks said, and which of them are down.

-- One row for every payment that a worker must do something about: a PENDING one is to be sent, a PROCESSING one to be
-- asked about. It is made with the payment and goes with its end, so the table stays small. The row of a payment that has
-- ended is back only while the network is asked whether it takes back its word.
CREATE TABLE dispatches (
    merchant_id       text COLLATE "C" NOT NULL,
    transaction_id    text COLLATE "C" NOT NULL,
    channel           text NOT NULL,
    type              text NOT NULL,
    connector         text, -- which connector has it; none until it is first taken up
    next_action       text NOT NULL DEFAULT 'send' CHECK (next_action IN ('send', 'sending', 'ask')),
    due_at            timestamptz NOT NULL, -- when it is next taken up; while a worker has it, when others may think it dead
    claim_id          text, -- under which a worker took it to send it
    send_count        smallint NOT NULL DEFAULT 0, -- how often it was sent, as far as anything can have arrived
    query_count       integer NOT NULL DEFAULT 0, -- how often its network was asked about it
    not_found_count   integer NOT NULL DEFAULT 0, -- in a row, since it was last sent
    is_acknowledged   boolean NOT NULL DEFAULT false, -- the network has said that it has it
    sent_at           timestamptz,
    is_hinted         boolean NOT NULL DEFAULT false, -- an unsigned callback has come since the last answer
    hinted_failure    text, -- why it failed, as an unsigned callback has it
    attention         text, -- why an operator must look at it
    queued_at         timestamptz NOT NULL DEFAULT now(), -- by the database's clock: what lapses counts from here
    is_follow_up      boolean NOT NULL DEFAULT false, -- the payment has ended, and its network is asked again
    success_heard_at  timestamptz, -- when somebody last said that it was paid: nothing forgets that
    not_indexed_count integer NOT NULL DEFAULT 0, -- answers in a row that may mean "not found yet"
    -- It may have been sent before a restore: its network is asked before it is sent, lapses or is cancelled.
    is_asked_first    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (merchant_id, transaction_id),
    CONSTRAINT dispatches_sent_by_a_connector CHECK (connector IS NOT NULL OR next_action = 'send')
) WITH (fillfactor = 50);
COMMENT ON TABLE dispatches IS 'The work queue of payments: what a worker must do next about each at its network.';
CREATE INDEX dispatches_to_send ON dispatches (channel, type, due_at) WHERE connector IS NULL;
CREATE INDEX dispatches_of_connector ON dispatches (connector, due_at) WHERE connector IS NOT NULL AND NOT is_follow_up;
CREATE INDEX dispatches_follow_ups ON dispatches (connector, due_at) WHERE is_follow_up;
CREATE INDEX dispatches_asked_first ON dispatches (channel, type, due_at) WHERE is_asked_first AND connector IS NULL;

-- Everything that a network answered about a payment, by whichever way. Never updated.
CREATE TABLE network_answers (
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    received_at    timestamptz NOT NULL,
    connector      text NOT NULL, -- which heard it
    source         text NOT NULL CHECK (source IN ('send', 'ask', 'callback')), -- the reply, a query, or their own word
    verdict        text NOT NULL, -- what it means to us
    code           text NOT NULL, -- the network's own
    detail         text NOT NULL,
    PRIMARY KEY (merchant_id, transaction_id, id)
);
COMMENT ON TABLE network_answers IS 'Everything that a network answered about a payment. Never updated.';

-- A connector whose network is down. Nothing is sent to it until a harmless probe is answered.
CREATE TABLE open_circuits (
    connector     text PRIMARY KEY,
    since         timestamptz NOT NULL,
    reason        text NOT NULL,
    probe_count   integer NOT NULL DEFAULT 0,
    next_probe_at timestamptz NOT NULL -- when one worker of the fleet may probe it
);
COMMENT ON TABLE open_circuits IS 'A connector whose network is down: nothing is sent to it. No row: it is up.';

-- Callbacks about payments that we do not have: money may have moved, so they are kept and shown.
CREATE TABLE unknown_callbacks (
    id                 text COLLATE "C" PRIMARY KEY,
    received_at        timestamptz NOT NULL,
    connector          text NOT NULL,
    network_key        text NOT NULL, -- of the payment that it speaks of
    amount             bigint,
    phone              text,
    provider_reference text,
    verdict            text NOT NULL,
    code               text NOT NULL,
    detail             text NOT NULL,
    is_signed          boolean NOT NULL
);
COMMENT ON TABLE unknown_callbacks IS 'A callback about a payment that we do not have. Money may have moved.';
