"""Receipts that prove themselves, and their log."""
