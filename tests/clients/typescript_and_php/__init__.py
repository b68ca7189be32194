"""The clients for TypeScript and PHP, each in a process of its own interpreter, put to the same questions."""
