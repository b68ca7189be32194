"""The ledger's SQL, one file a matter."""
