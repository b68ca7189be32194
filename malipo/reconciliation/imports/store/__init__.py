"""The SQL of imports: files compared with each other, and what a withdrawal takes back."""
