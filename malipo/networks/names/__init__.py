"""The names behind phone numbers, as networks have them on file."""
