"""Payments: creating, sending, settling, cancelling, correcting and listing them."""
