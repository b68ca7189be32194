"""The operators' pages of reconciliation: statements, exceptions and the daily close."""
