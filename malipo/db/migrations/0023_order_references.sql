-- Serves: 0022
-- What merchants find their payments by, and which collection a refund gives back. Older processes write neither, and null is
-- what a payment without them has.
ALTER TABLE transactions ADD COLUMN IF NOT EXISTS order_reference text; -- the merchant's own number for it; not unique
ALTER TABLE transactions ADD COLUMN refund_of text COLLATE "C"; -- of a payout: the collection that it gives back
ALTER TABLE transactions ADD COLUMN batch_id text COLLATE "C"; -- of a payout: the batch that it is a line of
ALTER TABLE transactions ADD CONSTRAINT transactions_only_payouts_refund
    CHECK (type = 'DISBURSEMENT' OR (refund_of IS NULL AND batch_id IS NULL)) NOT VALID;
CREATE INDEX IF NOT EXISTS transactions_by_order_reference ON transactions (merchant_id, order_reference, id)
    WHERE order_reference IS NOT NULL;
