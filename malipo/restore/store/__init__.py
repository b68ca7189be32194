"""The SQL of the installation's row, its holds and releases; and of the counts of sent batches."""
