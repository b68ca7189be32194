"""Refunds: payouts that give a collection back to the customer who paid it."""
