"""Passwords, tokens and log-in attempts: of merchants' people and of operators."""
