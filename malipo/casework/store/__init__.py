"""The SQL of casework."""
