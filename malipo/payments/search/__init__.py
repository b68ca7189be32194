"""Search in references, phones and names, by n-grams."""
