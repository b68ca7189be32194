"""The installation's SQL: its row, holds, and the counts of sent batches."""
