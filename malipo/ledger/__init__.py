"""The book: where every shilling is, and how it came there."""
