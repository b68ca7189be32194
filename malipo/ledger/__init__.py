"""The ledger: double-entry accounts, the moves between them, wallets, statements and bookings.

Which moves follow from a status is decided in the layers above: `payments/status_effects.py`,
`payments/correction_moves.py` and `settlement/settlement.py`.
"""
