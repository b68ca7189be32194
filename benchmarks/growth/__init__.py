"""`bench growth`: what a payment takes on disk, and for how long."""
