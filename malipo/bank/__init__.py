"""Our own bank accounts: payout files that pay settlements from them, and the bank's statements, which decide."""
