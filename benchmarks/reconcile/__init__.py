"""Statements of networks: how fast a file is imported, and matched with as many payments."""
