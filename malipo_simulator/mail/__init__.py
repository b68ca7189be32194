"""A mail server that delivers nothing, and keeps what it takes for a page: the demo's e-mails."""
