"""`bench journey`: payments from the request to the webhook."""
