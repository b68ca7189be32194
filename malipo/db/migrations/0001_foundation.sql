-- Merchants, their keys and limits; transactions; the ledger; the outbox.
--
-- Ids sort by age under the C collation, so the newest rows share warm pages. merchant_id leads the keys of the
-- large tables. There are no triggers, and no foreign keys on the tables that every payment writes: the rows of
-- one payment are written in one commit, and `malipo ledger check` looks for anything that does not fit.

CREATE TABLE merchants (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    is_active  boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
    id           text COLLATE "C" PRIMARY KEY,
    merchant_id  text COLLATE "C" NOT NULL REFERENCES merchants,
    name         text NOT NULL,
    hash         bytea NOT NULL UNIQUE, -- SHA-256 of the key; the key itself is shown once and kept nowhere
    prefix       text NOT NULL,
    last4        text NOT NULL,
    environment  text NOT NULL CHECK (environment IN ('live', 'test')),
    permissions  text[] NOT NULL,
    ip_allowlist cidr[] NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, id);

-- When each key's requests of the last minute were let in: times in milliseconds, and how many at each.
CREATE TABLE rate_windows (
    key_id text COLLATE "C" NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    class  text NOT NULL CHECK (class IN ('create', 'list', 'other')),
    times  bigint[] NOT NULL DEFAULT '{}',
    counts integer[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (key_id, class)
) WITH (fillfactor = 25);

-- What a payment costs the merchant: the band that begins at or below the amount. No row, no fee.
CREATE TABLE tariffs (
    merchant_id  text COLLATE "C" NOT NULL REFERENCES merchants,
    type         text NOT NULL CHECK (type IN ('COLLECTION', 'DISBURSEMENT')),
    channel      text NOT NULL CHECK (channel IN ('MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA')),
    from_amount  bigint NOT NULL CHECK (from_amount >= 0),
    fixed        bigint NOT NULL CHECK (fixed >= 0),
    basis_points integer NOT NULL CHECK (basis_points BETWEEN 0 AND 10000),
    least        bigint NOT NULL CHECK (least >= 0),
    most         bigint CHECK (most >= least),
    PRIMARY KEY (merchant_id, type, channel, from_amount)
);

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
    searchable         text NOT NULL, -- reference, phone and name in one case, whatever the database's locale
    provider_reference text,
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

-- Kept for ever, in the commit of the transaction it made.
CREATE TABLE idempotency_keys (
    merchant_id    text COLLATE "C" NOT NULL,
    route          text NOT NULL,
    key            text COLLATE "C" NOT NULL,
    fingerprint    bytea NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (merchant_id, route, key)
);

-- The two balances of a merchant that are stored. They change only together with the moves that explain them.
CREATE TABLE wallets (
    merchant_id text COLLATE "C" PRIMARY KEY REFERENCES merchants,
    available   bigint NOT NULL DEFAULT 0,
    in_flight   bigint NOT NULL DEFAULT 0,
    lines       bigint NOT NULL DEFAULT 0, -- how many moves have touched the wallet: the statement's last line
    updated_at  timestamptz NOT NULL,
    CONSTRAINT wallets_available_is_never_negative CHECK (available >= 0),
    CONSTRAINT wallets_in_flight_is_never_negative CHECK (in_flight >= 0)
) WITH (fillfactor = 25);

-- The book. A move takes an amount from one account and gives it to another: one row, so that it cannot be
-- unbalanced, whatever the code does. Never updated, never deleted.
CREATE TABLE moves (
    merchant_id  text COLLATE "C" NOT NULL,
    cause_id     text COLLATE "C" NOT NULL, -- the transaction or the operator's booking that moved it
    step         text NOT NULL CHECK (step IN ('open', 'end', 'contradiction', 'booking')),
    line         smallint NOT NULL CHECK (line > 0),
    source       text NOT NULL,
    target       text NOT NULL,
    channel      text,
    amount       bigint NOT NULL CHECK (amount > 0),
    wallet_line  bigint CHECK (wallet_line > 0),  -- its place in the merchant's statement
    wallet_after bigint CHECK (wallet_after >= 0), -- what the wallet held after it
    at           timestamptz NOT NULL,
    -- A step of a transaction happens once: money that was given back cannot also be paid out.
    PRIMARY KEY (merchant_id, cause_id, step, line),
    CONSTRAINT moves_go_between_known_accounts
        CHECK (source IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense')
           AND target IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense')),
    CONSTRAINT moves_go_somewhere CHECK (source <> target),
    CONSTRAINT moves_name_the_float CHECK ((channel IS NOT NULL) = ('float' IN (source, target))),
    CONSTRAINT moves_number_the_wallet
        CHECK (('wallet' IN (source, target)) = (wallet_line IS NOT NULL AND wallet_after IS NOT NULL))
);
CREATE UNIQUE INDEX moves_statement ON moves (merchant_id, wallet_line) WHERE wallet_line IS NOT NULL;

-- What an operator booked by hand. The reference is the bank's, so that booking the same paper twice books once.
CREATE TABLE bookings (
    id          text COLLATE "C" PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    kind        text NOT NULL CHECK (kind IN ('top_up', 'settlement')),
    reference   text COLLATE "C" NOT NULL,
    amount      bigint NOT NULL CHECK (amount > 0),
    created_at  timestamptz NOT NULL,
    CONSTRAINT bookings_reference_is_unique UNIQUE (kind, reference)
);

-- Facts to tell, written in the commit that made them true. The body is fixed here, byte for byte.
CREATE TABLE events (
    merchant_id    text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    event          text NOT NULL,
    body           text NOT NULL,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT events_tell_once UNIQUE (merchant_id, transaction_id, event)
);
