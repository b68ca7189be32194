-- What is still to be done about a payment at its network, what the networks said, and which of them are down.

-- One row for every payment that a worker must do something about: a PENDING one is to be sent, a PROCESSING one to be
-- asked about. It is made with the payment and goes with its end, so the table stays small. The row of a payment that has
-- ended is back only while the network is asked whether it takes back its word.
CREATE TABLE dispatches (
    merchant_id     text COLLATE "C" NOT NULL,
    transaction_id  text COLLATE "C" NOT NULL,
    channel         text NOT NULL,
    type            text NOT NULL,
    route           text, -- which connector has it; none until it is first taken up
    next_act        text NOT NULL DEFAULT 'send' CHECK (next_act IN ('send', 'sending', 'ask')),
    due_at          timestamptz NOT NULL, -- when it is next taken up; while a worker has it, when others may think it dead
    claim           text, -- under which a worker took it to send it
    sends           smallint NOT NULL DEFAULT 0, -- how often it was sent, as far as anything can have arrived
    asks            integer NOT NULL DEFAULT 0,
    not_founds      integer NOT NULL DEFAULT 0, -- in a row, since it was last sent
    is_acknowledged boolean NOT NULL DEFAULT false, -- the network has said that it has it
    sent_at         timestamptz,
    is_hinted       boolean NOT NULL DEFAULT false, -- an unsigned callback has come since the last answer
    hint            text, -- why it failed, as an unsigned callback has it
    attention       text, -- why an operator must look at it
    PRIMARY KEY (merchant_id, transaction_id),
    CONSTRAINT dispatches_sent_by_a_route CHECK (route IS NOT NULL OR next_act = 'send')
) WITH (fillfactor = 50);
CREATE INDEX dispatches_to_send ON dispatches (channel, type, due_at) WHERE route IS NULL;
CREATE INDEX dispatches_of_route ON dispatches (route, due_at) WHERE route IS NOT NULL;

INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at)
SELECT merchant_id, id, channel, type, created_at FROM transactions WHERE status = 'PENDING';

-- Everything that was heard of a payment, by whichever way, and who heard it. Never updated.
CREATE TABLE hearings (
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL,
    route          text NOT NULL,
    act            text NOT NULL CHECK (act IN ('send', 'ask', 'callback')),
    verdict        text NOT NULL,
    code           text NOT NULL,
    detail         text NOT NULL,
    PRIMARY KEY (merchant_id, transaction_id, id)
);

-- A connector whose network is down. Nothing is sent to it until a harmless knock is answered.
CREATE TABLE circuits (
    route    text PRIMARY KEY,
    since    timestamptz NOT NULL,
    reason   text NOT NULL,
    probes   integer NOT NULL DEFAULT 0,
    probe_at timestamptz NOT NULL
);

-- What an operator says became of a payment whose network does not. A payout takes two of them.
CREATE TABLE resolutions (
    id             text COLLATE "C" PRIMARY KEY,
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    outcome        text NOT NULL CHECK (outcome IN ('completed', 'failed')),
    is_of_contradiction boolean NOT NULL, -- the payment had ended, and its network said the opposite
    evidence       text NOT NULL,
    provider_reference text,
    proposed_by    text NOT NULL,
    proposed_at    timestamptz NOT NULL,
    ended_by       text,
    ended_at       timestamptz,
    is_approved    boolean,
    CONSTRAINT resolutions_end_whole CHECK ((ended_at IS NULL) = (ended_by IS NULL)
                                        AND (ended_at IS NULL) = (is_approved IS NULL))
);
-- One open proposal for a payment.
CREATE UNIQUE INDEX resolutions_open ON resolutions (merchant_id, transaction_id) WHERE ended_at IS NULL;

-- When what a network took back is cleared out of suspense.
ALTER TABLE moves DROP CONSTRAINT moves_step_check;
ALTER TABLE moves ADD CONSTRAINT moves_step_check
    CHECK (step IN ('open', 'end', 'contradiction', 'resolution', 'booking'));
CREATE INDEX moves_in_suspense ON moves (cause_id) WHERE step IN ('contradiction', 'resolution');
