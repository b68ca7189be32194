-- Serves: 0022
-- The network keys of refunds follow from the network key of the collection, not from its id: a collection that a restore has lost
-- comes back under another id, and its refund would be paid again. Refunds of collections from before this migration keep the keys
-- of the older version, which may have sent them.
ALTER TABLE installation ADD COLUMN refund_keys_since timestamptz;
COMMENT ON COLUMN installation.refund_keys_since IS 'Refunds of older collections have keys that follow from the id; none: there are none.';
UPDATE installation SET refund_keys_since = now() WHERE EXISTS (SELECT FROM transactions);
