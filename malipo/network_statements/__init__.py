"""Reads the statements of networks: which money they say came in and went out. Knows nothing of payments."""
