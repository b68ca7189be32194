"""/dashboard: pages for a merchant's people."""
