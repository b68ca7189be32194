"""The SQL of exceptions, and of what operators decided about them."""
