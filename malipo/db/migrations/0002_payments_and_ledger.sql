-- Tariffs, payments and their idempotency keys; the ledger; what operators book, decide and put right.

-- What a payment costs the merchant: the band that begins at or below the amount. No row, no fee.
CREATE TABLE tariffs (
    merchant_id  text COLLATE "C" NOT NULL REFERENCES merchants,
    type         text NOT NULL CHECK (type IN ('COLLECTION', 'DISBURSEMENT')),
    channel      text NOT NULL CHECK (channel IN ('MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA')),
    from_amount  bigint NOT NULL CHECK (from_amount >= 0), -- where the band begins; it goes up to the next one
    fixed_fee    bigint NOT NULL CHECK (fixed_fee >= 0),
    basis_points integer NOT NULL CHECK (basis_points BETWEEN 0 AND 10000), -- the share of the amount
    min_fee      bigint NOT NULL CHECK (min_fee >= 0),
    max_fee      bigint CHECK (max_fee >= min_fee), -- none: no limit
    PRIMARY KEY (merchant_id, type, channel, from_amount)
);
COMMENT ON TABLE tariffs IS 'What a merchant''s payments cost: bands of amounts, by type and channel.';

-- A payment: a collection from a customer, or a payout to one.
CREATE TABLE transactions (
    merchant_id        text COLLATE "C" NOT NULL,
    id                 text COLLATE "C" NOT NULL, -- begins with created_at, so a range of time is a range of ids
    reference          text COLLATE "C" NOT NULL,
    network_key        text COLLATE "C" NOT NULL, -- what the network knows it by; the same key never pays twice
    type               text NOT NULL CHECK (type IN ('COLLECTION', 'DISBURSEMENT')),
    channel            text NOT NULL CHECK (channel IN ('MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA')),
    status             text NOT NULL
                       CHECK (status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    amount             bigint NOT NULL CHECK (amount > 0),
    fee                bigint NOT NULL CHECK (fee >= 0),
    phone              text NOT NULL,
    name               text NOT NULL,
    description        text NOT NULL,
    metadata           json NOT NULL,
    search_text        text NOT NULL, -- reference, phone and name in one case, whatever the database's locale
    provider_reference text, -- the network's own receipt
    failure_code       text,
    failure_reason     text,
    created_at         timestamptz NOT NULL,
    processing_at      timestamptz,
    ended_at           timestamptz,
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT transactions_reference_is_unique UNIQUE (reference),
    CONSTRAINT transactions_network_key_is_unique UNIQUE (channel, network_key),
    -- A fee may not eat a collection.
    CONSTRAINT transactions_net_is_positive CHECK (type = 'DISBURSEMENT' OR fee < amount),
    -- The times say the same as the status, and never run backwards.
    CONSTRAINT transactions_end_has_a_time
        CHECK ((ended_at IS NOT NULL) = (status IN ('COMPLETED', 'FAILED', 'CANCELLED'))),
    CONSTRAINT transactions_processing_has_a_time
        CHECK (CASE status WHEN 'PENDING' THEN processing_at IS NULL
                           WHEN 'CANCELLED' THEN processing_at IS NULL
                           WHEN 'PROCESSING' THEN processing_at IS NOT NULL
                           WHEN 'COMPLETED' THEN processing_at IS NOT NULL
                           ELSE true END),
    CONSTRAINT transactions_times_run_forward
        CHECK (processing_at >= created_at AND ended_at >= created_at AND ended_at >= processing_at),
    CONSTRAINT transactions_failure_has_a_code CHECK ((failure_code IS NOT NULL) = (status = 'FAILED'))
) WITH (fillfactor = 90);
COMMENT ON TABLE transactions IS 'A payment: a collection from a customer, or a payout to one.';

-- An idempotency key and the payment that it made. Kept for ever, in the commit of that payment.
CREATE TABLE idempotency_keys (
    merchant_id    text COLLATE "C" NOT NULL,
    route          text NOT NULL, -- of the API: the same key may be used once on each
    key            text COLLATE "C" NOT NULL,
    request_hash   bytea NOT NULL, -- another request under the same key is refused
    transaction_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (merchant_id, route, key)
);
COMMENT ON TABLE idempotency_keys IS 'An idempotency key and the payment that it made. Kept for ever.';

-- The balances of a merchant that are stored. They change only together with the moves that explain them.
CREATE TABLE wallets (
    merchant_id     text COLLATE "C" PRIMARY KEY REFERENCES merchants,
    available       bigint NOT NULL DEFAULT 0,
    in_flight       bigint NOT NULL DEFAULT 0, -- taken out for payouts that have not ended
    statement_lines bigint NOT NULL DEFAULT 0, -- how many moves have touched the wallet: the statement's last line
    owed            bigint NOT NULL DEFAULT 0, -- by corrections; only what the wallet holds beyond it can be spent
    updated_at      timestamptz NOT NULL,
    CONSTRAINT wallets_available_is_never_negative CHECK (available >= 0),
    CONSTRAINT wallets_in_flight_is_never_negative CHECK (in_flight >= 0),
    CONSTRAINT wallets_owed_is_never_negative CHECK (owed >= 0)
) WITH (fillfactor = 25);
COMMENT ON TABLE wallets IS 'The stored balances of a merchant.';

-- The ledger. A move takes an amount from one account and gives it to another: one row, so that it cannot be
-- unbalanced, whatever the code does. Never updated, never deleted.
CREATE TABLE moves (
    merchant_id    text COLLATE "C" NOT NULL,
    cause_id       text COLLATE "C" NOT NULL, -- the transaction or the operator's booking that moved it
    step           text NOT NULL CHECK (step IN ('open', 'end', 'contradiction', 'resolution', 'booking')),
    ordinal        smallint NOT NULL DEFAULT 1 CHECK (ordinal > 0), -- which contradiction or resolution of the payment
    move_number    smallint NOT NULL CHECK (move_number > 0), -- within the step
    source         text NOT NULL, -- the account that it is taken from
    target         text NOT NULL, -- the account that it is given to
    channel        text, -- whose float
    amount         bigint NOT NULL CHECK (amount > 0),
    statement_line bigint CHECK (statement_line > 0), -- its place in the merchant's statement
    balance_after  bigint CHECK (balance_after >= 0), -- what the wallet held after it
    created_at     timestamptz NOT NULL,
    -- A step of a transaction happens once: money that was given back cannot also be paid out.
    PRIMARY KEY (merchant_id, cause_id, step, ordinal, move_number),
    -- A payment begins and ends once. It can be contradicted and corrected more than once.
    CONSTRAINT moves_begin_and_end_once CHECK (ordinal = 1 OR step IN ('contradiction', 'resolution')),
    CONSTRAINT moves_go_between_known_accounts
        CHECK (source IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses')
           AND target IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses')),
    CONSTRAINT moves_go_somewhere CHECK (source <> target),
    CONSTRAINT moves_name_the_float CHECK ((channel IS NOT NULL) = ('float' IN (source, target))),
    CONSTRAINT moves_number_the_wallet
        CHECK (('wallet' IN (source, target)) = (statement_line IS NOT NULL AND balance_after IS NOT NULL))
);
COMMENT ON TABLE moves IS 'The ledger: an amount that went from one account to another. Never updated, never deleted.';
CREATE UNIQUE INDEX moves_statement ON moves (merchant_id, statement_line) WHERE statement_line IS NOT NULL;
CREATE INDEX moves_in_suspense ON moves (cause_id) WHERE step IN ('contradiction', 'resolution');

-- What an operator booked by hand: a top-up or a settlement. Booking the same paper of the bank's twice books once.
CREATE TABLE bookings (
    id             text COLLATE "C" PRIMARY KEY,
    merchant_id    text COLLATE "C" NOT NULL REFERENCES merchants,
    kind           text NOT NULL CHECK (kind IN ('top_up', 'settlement')),
    bank_reference text COLLATE "C" NOT NULL,
    amount         bigint NOT NULL CHECK (amount > 0),
    created_at     timestamptz NOT NULL,
    CONSTRAINT bookings_bank_reference_is_unique UNIQUE (kind, bank_reference)
);
COMMENT ON TABLE bookings IS 'A top-up or a settlement that an operator booked by hand.';

-- Large top-ups and settlements take two operators: one requests, which moves nothing, and another decides.
CREATE TABLE booking_proposals (
    id             text COLLATE "C" PRIMARY KEY, -- the booking gets the same one, so it cannot be made twice
    merchant_id    text COLLATE "C" NOT NULL REFERENCES merchants,
    kind           text NOT NULL CHECK (kind IN ('top_up', 'settlement')),
    bank_reference text COLLATE "C" NOT NULL,
    amount         bigint NOT NULL CHECK (amount > 0),
    requested_by   text NOT NULL,
    requested_at   timestamptz NOT NULL,
    decided_by     text, -- none: it is open
    decided_at     timestamptz,
    is_approved    boolean,
    CONSTRAINT booking_proposals_are_decided_whole CHECK ((decided_at IS NULL) = (decided_by IS NULL)
                                                      AND (decided_at IS NULL) = (is_approved IS NULL)),
    CONSTRAINT booking_proposals_take_two CHECK (NOT (is_approved AND decided_by = requested_by))
);
COMMENT ON TABLE booking_proposals IS 'A large booking that one operator requests and another approves or rejects.';
-- One open proposal for a paper of the bank's. A rejected one may be proposed again.
CREATE UNIQUE INDEX booking_proposals_open ON booking_proposals (kind, bank_reference) WHERE decided_at IS NULL;
CREATE INDEX booking_proposals_by_bank_reference ON booking_proposals (bank_reference);

-- What an operator says became of a payment whose network does not say it, and what operators, or malipo itself, decided
-- about a contradicted one. A payout takes two operators.
CREATE TABLE resolutions (
    id                  text COLLATE "C" PRIMARY KEY,
    merchant_id         text COLLATE "C" NOT NULL,
    transaction_id      text COLLATE "C" NOT NULL,
    outcome             text NOT NULL CHECK (outcome IN ('completed', 'failed')),
    is_of_contradiction boolean NOT NULL, -- the payment had ended, and its network said the opposite
    evidence            text NOT NULL,
    provider_reference  text,
    requested_by        text NOT NULL,
    requested_at        timestamptz NOT NULL,
    decided_by          text, -- none: it is open
    decided_at          timestamptz,
    is_approved         boolean,
    ordinal             smallint, -- of the moves that it made; none if it concerned an open payment, or moved nothing
    credited            bigint NOT NULL DEFAULT 0, -- what the wallet got, in shillings; negative if it gave
    borne               bigint NOT NULL DEFAULT 0, -- what the house bears instead of the wallet, with the same sign
    is_despite_waiting  boolean NOT NULL DEFAULT false, -- FAILED, although the network last called it waiting
    is_waived           boolean NOT NULL DEFAULT false, -- what was still owed is borne by the house
    CONSTRAINT resolutions_are_decided_whole CHECK ((decided_at IS NULL) = (decided_by IS NULL)
                                                AND (decided_at IS NULL) = (is_approved IS NULL))
);
COMMENT ON TABLE resolutions IS 'What operators say became of a payment: requested by one, decided by another.';
-- One open proposal for a payment.
CREATE UNIQUE INDEX resolutions_open ON resolutions (merchant_id, transaction_id) WHERE decided_at IS NULL;

-- One row for every payment about which its network, or operators, have said something else since it ended.
CREATE TABLE corrections (
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    is_paid        boolean NOT NULL, -- what was last said: the money moved. The network's float is booked like this
    source         text CHECK (source IN ('send', 'ask', 'callback')), -- of that answer; none: operators
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
COMMENT ON TABLE corrections IS 'How far a payment was put right after its end.';
CREATE INDEX corrections_open ON corrections (since) WHERE is_open;
