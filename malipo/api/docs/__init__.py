"""The API reference at /docs: its content, template and style."""
