"""The SQL of batches."""
