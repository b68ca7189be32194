"""Who the merchants are, and who may speak for them."""
