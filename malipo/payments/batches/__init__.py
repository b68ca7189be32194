"""Batches of payouts: made by one person, approved by another, reserved in one commit."""
