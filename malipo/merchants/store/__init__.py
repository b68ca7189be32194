"""The merchants' SQL, one file a matter."""
