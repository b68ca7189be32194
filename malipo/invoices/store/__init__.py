"""The SQL of invoices."""
