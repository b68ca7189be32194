"""Refunds in the simulation: merchants who make them, and what must be true of them at the end."""
