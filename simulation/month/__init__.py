"""A month of a payment company in one command: payments with faults, statements, closes, settlements, a restore; and at
its end the archive, read by programs that nobody here wrote."""
