"""The SQL of statements, their lines and their withdrawal."""
