"""The SQL of reconciliation."""
