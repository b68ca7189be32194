"""The HTTP door: routes, fields, statuses. The work is done behind it."""
