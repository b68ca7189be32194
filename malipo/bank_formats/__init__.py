"""The files of banks: payout files, and statements. Knows nothing of settlements."""
