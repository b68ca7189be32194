"""The SQL of messages, who gets them, and who has chosen which."""
