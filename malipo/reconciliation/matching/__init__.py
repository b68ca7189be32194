"""Matches statement lines with payments, books the others, and finds payments that are absent."""
