"""The daily close: a day's money by the networks' statements and by the ledger, signed, and never changed."""
