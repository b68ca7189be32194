"""What `malipo listen` is made of."""
