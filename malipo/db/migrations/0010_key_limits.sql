-- The most that an API key may pay out at once, and in a day of Dar es Salaam; without a value there is no such limit.
ALTER TABLE api_keys
    ADD COLUMN payout_limit bigint CHECK (payout_limit > 0),
    ADD COLUMN daily_payout_limit bigint CHECK (daily_payout_limit > 0);

-- What each API key with a daily limit has paid out on the last day on which it did. It is read and written while the
-- merchant's wallet is locked, so that no two payouts use the same rest.
CREATE TABLE api_key_daily_payouts (
    key_id text COLLATE "C" PRIMARY KEY REFERENCES api_keys ON DELETE CASCADE,
    day    date NOT NULL, -- in Dar es Salaam
    amount bigint NOT NULL CHECK (amount >= 0) -- without fees
);
COMMENT ON TABLE api_key_daily_payouts IS 'What an API key with a daily limit has paid out on its last day.';

-- Who created a payment: the id of an API key, or the email of a person, who may be gone by now. Payments from before
-- have none.
ALTER TABLE transactions ADD COLUMN created_by text COLLATE "C";
