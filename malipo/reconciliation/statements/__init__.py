"""Networks' statements as files: their lines, the layouts that read them, and the time that they cover."""
