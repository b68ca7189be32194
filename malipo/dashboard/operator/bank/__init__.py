"""Pages of our own bank accounts, for operators: payout files, the bank's statements, and what its lines are."""
