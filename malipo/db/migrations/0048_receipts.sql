-- Serves: 0022
-- Receipts that prove themselves: what was completed, refunded and corrected, in an append-only Merkle log. Older processes
-- number events without it; what they number is appended afterwards, because `logged_to` does not follow.
ALTER TABLE feeds ADD COLUMN logged_to bigint NOT NULL DEFAULT 0; -- the latest number of which the receipt log has what belongs into it

-- A log. There is another one after a restore, and when an operator begins one. Its leaves are the rows of `receipt_facts`
-- with its number; the first leaf is `genesis`.
CREATE TABLE receipt_logs (
    number             bigint PRIMARY KEY, -- when it was made, in seconds since 1970, so that no two databases make the same
    installation_epoch bigint NOT NULL, -- in another one nothing is appended to it
    origin             text COLLATE "C" NOT NULL UNIQUE, -- its name in checkpoints
    size               bigint NOT NULL DEFAULT 1 CHECK (size > 0), -- how many leaves it has, with the first
    genesis            text, -- the first entry; none: nothing was signed yet
    begun_by           text, -- the operator who has begun it; none: it began by itself
    is_key_to_change   boolean NOT NULL DEFAULT false -- an operator wants another key to sign from the next checkpoint on
) WITH (fillfactor = 50);
COMMENT ON TABLE receipt_logs IS 'Logs of what became true of payments, each an append-only Merkle tree.';

-- A fact, and its place in the log. Deleting salt and fact is erasure: what is left is a random number.
CREATE TABLE receipt_facts (
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL, -- whose receipt it is on: of a refund, the collection's
    subject_id     text COLLATE "C" NOT NULL, -- of which it became true: the same, or the refund
    kind           text NOT NULL CHECK (kind IN ('completed', 'refunded', 'corrected')),
    ordinal        smallint NOT NULL DEFAULT 1 CHECK (ordinal > 0), -- a payment can be corrected more than once
    log_number     bigint NOT NULL,
    leaf_index     bigint NOT NULL CHECK (leaf_index > 0), -- without gaps; it is given by one numberer at a time
    entry          bytea NOT NULL CHECK (length(entry) = 32), -- SHA-256 of salt and fact: what the log has
    salt           bytea CHECK (length(salt) = 32),
    fact           text, -- canonical JSON
    PRIMARY KEY (merchant_id, transaction_id, subject_id, kind, ordinal),
    CONSTRAINT receipt_facts_place UNIQUE (log_number, leaf_index),
    CONSTRAINT receipt_facts_are_erased_whole CHECK ((salt IS NULL) = (fact IS NULL))
);
COMMENT ON TABLE receipt_facts IS 'What became true of a payment, with its place in the receipt log.';

-- The hashes of complete subtrees, 256 in a row, as C2SP tlog-tiles has them. They follow from the entries.
CREATE TABLE receipt_tiles (
    log_number bigint NOT NULL,
    level      smallint NOT NULL,
    tile       bigint NOT NULL,
    hashes     bytea NOT NULL, -- of level 0 only complete tiles
    PRIMARY KEY (log_number, level, tile)
);
COMMENT ON TABLE receipt_tiles IS 'Hashes of the trees of the receipt logs.';
ALTER TABLE receipt_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL; -- hashes cannot be compressed

-- Keys that sign checkpoints. Encrypted under MALIPO_SECRET_KEY, so that whoever only has the database cannot sign.
CREATE TABLE receipt_log_keys (
    id           text COLLATE "C" PRIMARY KEY,
    log_number   bigint NOT NULL,
    secret       bytea NOT NULL, -- an Ed25519 key, encrypted
    public_key   bytea NOT NULL,
    created_at   timestamptz NOT NULL,
    retired_at   timestamptz,
    handover     text -- from the key before it, signed by both; none: there was none, or it is lost
);
COMMENT ON TABLE receipt_log_keys IS 'Keys that sign the checkpoints of the receipt logs.';
CREATE UNIQUE INDEX receipt_log_keys_current ON receipt_log_keys (log_number) WHERE retired_at IS NULL;

-- A signed checkpoint. It is in the state folder of the host that has signed it before it is here.
CREATE TABLE receipt_checkpoints (
    log_number bigint NOT NULL,
    size       bigint NOT NULL,
    note       text NOT NULL,
    signed_at  timestamptz NOT NULL, -- as it was signed
    PRIMARY KEY (log_number, size)
);
COMMENT ON TABLE receipt_checkpoints IS 'Signed checkpoints of the receipt logs.';

-- Payments from before the log whose events are not kept any more: how far they were looked through.
CREATE TABLE receipt_walks (
    merchant_id text COLLATE "C" PRIMARY KEY,
    after_id    text COLLATE "C" NOT NULL
);
COMMENT ON TABLE receipt_walks IS 'How far a merchant''s old payments were looked through for the receipt log.';

-- Why no worker signs checkpoints at the moment, as the one that has looked last found it.
CREATE TABLE receipt_log_signers (
    worker_id  text COLLATE "C" PRIMARY KEY,
    host       text NOT NULL,
    refused    text, -- a code; none: it may sign
    looked_at  timestamptz NOT NULL
);
COMMENT ON TABLE receipt_log_signers IS 'Workers that sign checkpoints of the receipt log, and what keeps them from it.';
