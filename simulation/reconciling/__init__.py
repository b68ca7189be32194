"""Operators who reconcile in the simulation: statements as files, their import, and lost payments that they adopt."""
