"""What a network's answer means for a payment, and what to do next."""
