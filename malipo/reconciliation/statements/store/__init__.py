"""The SQL of statements: their files, their lines, and the layouts that read them."""
