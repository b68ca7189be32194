"""Batches of payouts."""
