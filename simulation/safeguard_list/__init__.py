"""The safeguards that the simulation removes: the place of each, and its replacement."""
