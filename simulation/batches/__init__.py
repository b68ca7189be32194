"""Batches of payouts in the simulation: what merchants make, approve and cancel, and what must be true of it."""
