"""Operators, who run the service: their log-in, and the bookings that they make by hand."""
