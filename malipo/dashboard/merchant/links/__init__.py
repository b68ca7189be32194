"""Payment links: made, shared, and what came by them."""
