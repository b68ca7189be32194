"""The ledger: double-entry accounts, the moves between them, wallets, statements and bookings."""
