"""The pages that people see: phones to pick up, what the networks saw, and the table of digits."""
