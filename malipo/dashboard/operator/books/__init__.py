"""The pages of the books: trial balance, journal, vouchers, safeguarding, suspense, month end."""
