"""Payment links in the simulation: merchants who make them, customers who pay by them, and what must be true of it."""
