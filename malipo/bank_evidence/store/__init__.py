"""The SQL of what the bank's statements show."""
