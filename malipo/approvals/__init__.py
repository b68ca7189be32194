"""Acts of operators that move or make money, or access to it: one table, and one rule for which of them take two."""
