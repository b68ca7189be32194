"""Our own bank accounts: files that pay settlements, and the statements that decide."""
