-- Serves: 0022
-- A customer reads the network's receipt from the SMS: the merchant finds the payment by it.
CREATE INDEX IF NOT EXISTS transactions_by_provider_reference ON transactions (merchant_id, provider_reference, id)
    WHERE provider_reference IS NOT NULL;
