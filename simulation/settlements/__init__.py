"""Settlements in the simulation: merchants who send their balance to a bank, operators who pay it, and what must be
true of that."""
