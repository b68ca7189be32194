"""The payments' SQL, one file a table."""
