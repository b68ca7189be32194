"""How often a key may ask."""
