"""Tells merchants' own servers what happened."""
