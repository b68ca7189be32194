-- Serves: 0022
-- A payout like one that was adopted from a line without a key waits for operators until the repeat has come, and no longer for 30 days
-- only: a merchant's queue may send the lost request again after months.
UPDATE adopted_payments SET holds_until = 'infinity' WHERE holds_until > now();
