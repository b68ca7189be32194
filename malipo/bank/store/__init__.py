"""The SQL of payer accounts, payout files, bank statements and what their lines belong to."""
