"""The SQL of payments, about one file for each table."""
