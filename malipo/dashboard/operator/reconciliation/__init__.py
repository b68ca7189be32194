"""The operators' pages of reconciliation: what the networks' statements say, and what is done about it."""
