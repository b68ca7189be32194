"""Matches statement lines with payments, books the others, and finds exceptions and payments that are absent."""
