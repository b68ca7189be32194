"""AzamPay, an aggregator, for payouts and for the names behind phone numbers."""
