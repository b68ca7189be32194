-- What was told wrongly and is put right: debts, corrections that are told, and questions that go on after the end.

ALTER TABLE wallets
    ADD COLUMN owed bigint NOT NULL DEFAULT 0, -- by corrections; only what the wallet holds beyond it can be spent
    ADD CONSTRAINT wallets_owed_is_never_negative CHECK (owed >= 0);

-- A payment begins and ends once. It can be contradicted and corrected more than once; the ordinal tells those apart.
ALTER TABLE moves
    ADD COLUMN ordinal smallint NOT NULL DEFAULT 1 CHECK (ordinal > 0),
    DROP CONSTRAINT moves_pkey,
    ADD PRIMARY KEY (merchant_id, cause_id, step, ordinal, line),
    ADD CONSTRAINT moves_begin_and_end_once CHECK (ordinal = 1 OR step IN ('contradiction', 'resolution')),
    DROP CONSTRAINT moves_go_between_known_accounts,
    ADD CONSTRAINT moves_go_between_known_accounts
        CHECK (source IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses')
           AND target IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses'));

ALTER TABLE events
    ADD COLUMN ordinal smallint NOT NULL DEFAULT 1 CHECK (ordinal > 0),
    DROP CONSTRAINT events_tell_once,
    ADD CONSTRAINT events_tell_once UNIQUE (merchant_id, transaction_id, event, ordinal),
    ADD CONSTRAINT events_only_corrections_repeat CHECK (ordinal = 1 OR event LIKE '%.corrected');

-- One row for every payment about which its network, or operators, have said something else since it ended.
CREATE TABLE corrections (
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    is_paid        boolean NOT NULL, -- what was last said: the money moved. The network's float is booked like this
    act            text CHECK (act IN ('send', 'ask', 'callback')), -- how; none: by operators
    is_fee_paid    boolean NOT NULL, -- whether the fee is booked as of a completed payment
    credited       bigint NOT NULL, -- what corrections gave to the wallet in all; negative if they took
    borne          bigint NOT NULL, -- what the house bears instead of the wallet, with the same sign
    owed           bigint NOT NULL CHECK (owed >= 0), -- this payment's part of what the wallet owes
    ordinal        smallint NOT NULL, -- of the latest contradiction or resolution
    told           smallint NOT NULL DEFAULT 0, -- how many corrections the merchant was told of
    is_open        boolean NOT NULL, -- operators must decide
    since          timestamptz NOT NULL, -- when it was last opened or closed
    latest         json, -- the latest correction, as the merchant was told
    PRIMARY KEY (merchant_id, transaction_id)
);
CREATE INDEX corrections_open ON corrections (since) WHERE is_open;

-- What operators, or malipo itself, decided about a contradicted payment, in shillings.
ALTER TABLE resolutions
    ADD COLUMN ordinal smallint, -- of the moves that it made; none if it concerned an open payment, or moved nothing
    ADD COLUMN credited bigint NOT NULL DEFAULT 0,
    ADD COLUMN borne bigint NOT NULL DEFAULT 0,
    ADD COLUMN is_despite_waiting boolean NOT NULL DEFAULT false, -- FAILED, although the network last called it waiting
    ADD COLUMN is_waived boolean NOT NULL DEFAULT false; -- what was still owed is borne by the house

ALTER TABLE dispatches
    ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now(), -- by the database's clock: what lapses counts from here
    ADD COLUMN is_follow_up boolean NOT NULL DEFAULT false, -- the payment has ended, and its network is asked again
    ADD COLUMN success_heard_at timestamptz, -- when somebody last said that it was paid: nothing forgets that
    ADD COLUMN not_indexed integer NOT NULL DEFAULT 0; -- answers in a row that may mean "not found yet"
DROP INDEX dispatches_of_route;
CREATE INDEX dispatches_of_route ON dispatches (route, due_at) WHERE route IS NOT NULL AND NOT is_follow_up;
CREATE INDEX dispatches_follow_ups ON dispatches (route, due_at) WHERE is_follow_up;

-- Callbacks about payments that we do not have: money may have moved, so they are kept and shown.
CREATE TABLE unknown_callbacks (
    id                 text COLLATE "C" PRIMARY KEY,
    at                 timestamptz NOT NULL,
    route              text NOT NULL,
    key                text NOT NULL,
    amount             bigint,
    phone              text,
    provider_reference text,
    verdict            text NOT NULL,
    code               text NOT NULL,
    detail             text NOT NULL,
    is_signed          boolean NOT NULL
);
