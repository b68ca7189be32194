-- What somebody has paid out in the dashboard since the password was typed. It is read while the merchant's wallet is
-- locked, so that no two payouts use the same rest; that must not take long, however many payments the merchant has.
-- People are named by their emails. Payments by API keys, which are most, are not in it.
CREATE INDEX transactions_paid_out_by_people ON transactions (merchant_id, created_by, created_at) INCLUDE (amount)
    WHERE type = 'DISBURSEMENT' AND created_by LIKE '%@%';
