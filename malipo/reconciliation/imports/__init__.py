"""Imports of statements: fetch, read, compare and store a file; and withdraw it, by two operators."""
