"""Floats: what lies at each network, by the ledger and as it was seen there, and how far it covers payouts."""
