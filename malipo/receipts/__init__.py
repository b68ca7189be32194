"""Receipts with proofs: an append-only log of completed, refunded and corrected payments.

The formats are public standards, described byte for byte in docs/receipt-log.md: RFC 9162 for the tree, C2SP for tiles,
signed notes, checkpoints and proofs.
"""
