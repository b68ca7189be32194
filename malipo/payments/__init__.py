"""Payments: what they are, what may happen to them, and what each step does to the money."""
