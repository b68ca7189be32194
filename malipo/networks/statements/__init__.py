"""What networks say of our accounts, where they have an API for it."""
