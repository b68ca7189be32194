-- Serves: 0022
-- AzamPay's query asks for the id that AzamPay gave a payout, and not for ours. Older processes neither write nor read it, and know
-- no network that needs it.
ALTER TABLE transactions ADD COLUMN network_id text; -- what the network calls it, where its query needs that; never shown to merchants
