"""Which acts of operators take two, and the confirmation of each."""
