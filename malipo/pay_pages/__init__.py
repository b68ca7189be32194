"""The pages of customers: the pay page of a link, its QR code and poster. Rendered on the server, small, without a
log-in, usable without JavaScript."""
