"""What malipo can carry, measured beside what else the same machine could do. `./run bench --help`.

A benchmark measures and tells; it never asserts a time.
"""
