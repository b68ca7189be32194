"""Limits of payouts: of API keys, of people without the password, and of batches."""
