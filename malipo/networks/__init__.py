"""The mobile-money networks: which there are, and how each is spoken to."""
