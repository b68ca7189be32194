"""Merchants, their API keys and their people."""
