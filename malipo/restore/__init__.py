"""What is done when the database turns out to be an older one: nothing is sent until operators have agreed."""
