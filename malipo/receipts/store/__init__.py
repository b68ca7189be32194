"""SQL of the receipts and of their log."""
