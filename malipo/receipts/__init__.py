"""Receipts that prove themselves: an append-only log of what was completed, refunded and corrected, and its proofs.

The formats are public standards, described byte for byte in docs/receipt-log.md: RFC 9162 for the tree, C2SP for
tiles, signed notes, checkpoints and proofs.
"""
