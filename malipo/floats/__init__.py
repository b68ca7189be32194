"""Floats: the balance at each network, by the ledger and as last read there, and whether it covers payouts."""
