"""Assembles the service from its settings, and decides which requests share a commit."""
