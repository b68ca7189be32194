"""malipo bank …: our own bank accounts, the files that pay settlements, and the bank's statements."""
