"""Compares networks' statements with our payments: import, matching, exceptions, and the daily close."""
