"""The SQL of the daily close."""
