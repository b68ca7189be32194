"""The SQL of receipts and of their log."""
