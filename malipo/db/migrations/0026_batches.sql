-- Serves: 0022
-- Batches of payouts that one person makes and another approves. Older processes know none; they send the lines of a batch
-- like any payout.

-- A batch of payouts. Nothing moves until it is approved; then all of it is reserved in one commit.
CREATE TABLE batches (
    merchant_id     text COLLATE "C" NOT NULL REFERENCES merchants,
    id              text COLLATE "C" NOT NULL,
    name            text NOT NULL,
    status          text NOT NULL CHECK (status IN ('AWAITING_APPROVAL', 'RUNNING', 'COMPLETED', 'CANCELLED')),
    item_count      integer NOT NULL CHECK (item_count > 0),
    amount          bigint NOT NULL CHECK (amount > 0), -- of all items
    fee             bigint NOT NULL CHECK (fee >= 0), -- of all items
    warnings        json NOT NULL, -- what was found at its creation, such as lines that repeat others
    idempotency_key text COLLATE "C",
    request_hash    bytea NOT NULL, -- another request under the same key is refused
    created_at      timestamptz NOT NULL,
    created_by      text NOT NULL, -- the id of an API key, or the email of a person
    maker           text, -- the person it counts for: of an API key, who made the key; none: not known
    approved_at     timestamptz,
    approved_by     text, -- as created_by
    approver        text, -- as maker
    first_payout_id text COLLATE "C", -- of its first item; the others follow it
    completed_at    timestamptz,
    cancelled_at    timestamptz, -- of a batch that is running: when what was still PENDING was cancelled
    cancelled_by    text, -- as created_by
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT batches_idempotency_key_is_unique UNIQUE (merchant_id, idempotency_key),
    CONSTRAINT batches_approval_has_a_time
        CHECK ((status IN ('RUNNING', 'COMPLETED')) = (approved_at IS NOT NULL)
           AND (approved_at IS NULL) = (approved_by IS NULL) AND (approved_at IS NULL) = (first_payout_id IS NULL)),
    CONSTRAINT batches_completion_has_a_time CHECK ((status = 'COMPLETED') = (completed_at IS NOT NULL)),
    CONSTRAINT batches_cancellation_has_a_time CHECK (status <> 'CANCELLED' OR cancelled_at IS NOT NULL)
);
COMMENT ON TABLE batches IS 'A batch of payouts, which is made by one person and approved by another.';
CREATE INDEX batches_running ON batches (id) WHERE status = 'RUNNING';
CREATE INDEX batches_awaiting_approval ON batches (merchant_id, id) WHERE status = 'AWAITING_APPROVAL';

-- An item of a batch, as it was made. What became of it is in its payout.
CREATE TABLE batch_items (
    merchant_id     text COLLATE "C" NOT NULL,
    batch_id        text COLLATE "C" NOT NULL,
    item_index      integer NOT NULL CHECK (item_index >= 0), -- its place in the request, from 0
    channel         text NOT NULL CHECK (channel IN ('MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA')),
    amount          bigint NOT NULL CHECK (amount > 0),
    fee             bigint NOT NULL CHECK (fee >= 0), -- by the tariff at its creation
    phone           text NOT NULL,
    name            text NOT NULL,
    description     text NOT NULL,
    order_reference text,
    refund_of       text COLLATE "C", -- the collection that it gives back
    network_key     text COLLATE "C" NOT NULL, -- what the network will know it by, whenever it is approved
    name_found      text, -- whom the network knows by this number, if that was looked up
    name_checked_at timestamptz,
    PRIMARY KEY (merchant_id, batch_id, item_index),
    FOREIGN KEY (merchant_id, batch_id) REFERENCES batches
);
COMMENT ON TABLE batch_items IS 'An item of a batch of payouts, as it was made.';

-- Who made an API key: it counts as that person when a batch takes two. The audit log knows it of those from before.
ALTER TABLE api_keys ADD COLUMN created_by text; -- an actor, as the audit log names it; none: not known
UPDATE api_keys k SET created_by = a.actor
FROM audit_log a WHERE a.action = 'api_key.created' AND a.merchant_id = k.merchant_id AND a.details ->> 'key' = k.id;

ALTER TABLE people ADD COLUMN may_approve boolean NOT NULL DEFAULT false; -- of staff: batches that others made; owners may

ALTER TABLE merchants
    ADD COLUMN takes_two_to_approve boolean NOT NULL DEFAULT true, -- whoever made a batch may not approve it
    -- A person's payout above this is made as a batch of one item; none: there is no such amount.
    ADD COLUMN approval_above bigint CHECK (approval_above >= 0);

-- Lines of batches are claimed beside single payouts, so that none waits behind the other.
ALTER TABLE dispatches ADD COLUMN batch_id text COLLATE "C"; -- of a line of a batch
CREATE INDEX IF NOT EXISTS dispatches_single ON dispatches (channel, type, due_at)
    WHERE connector IS NULL AND batch_id IS NULL;
CREATE INDEX IF NOT EXISTS dispatches_of_batch ON dispatches (merchant_id, batch_id, channel, due_at, transaction_id)
    WHERE connector IS NULL AND batch_id IS NOT NULL;

-- What was paid out to a number lately. The number comes first: no search by merchant alone is to be led here.
CREATE INDEX IF NOT EXISTS transactions_paid_out_to ON transactions (phone, merchant_id, id) WHERE type = 'DISBURSEMENT';
