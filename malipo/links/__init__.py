"""Payment links: what a merchant wants to be paid, by whoever opens the link's page and presses."""
