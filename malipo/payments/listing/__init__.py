"""The list of transactions: filters, totals and pages."""
