"""Merchants with long histories, for benchmarks that ask whether history slows something down."""
