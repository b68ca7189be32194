"""Counts of payments that have ended, so that lists need not count them."""
