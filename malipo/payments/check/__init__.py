"""`malipo ledger check`: payments compared with the ledger, the feed and the rollups. It only reads."""
