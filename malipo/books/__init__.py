"""The books of the house, for accountants: chart of accounts, trial balance, journal."""
