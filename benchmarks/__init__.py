"""Benchmarks of malipo, beside PostgreSQL alone and a conventional service on the same machine. `./run bench --help`.

A benchmark measures and reports; it never asserts a time.
"""
