"""The SQL of matching: bookings, evidence, absence, and the exceptions that it finds."""
