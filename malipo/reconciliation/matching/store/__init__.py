"""The SQL of matching, bookings, evidence and absence."""
