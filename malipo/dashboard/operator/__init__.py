"""/operator: pages for those who run the service. Merchants' people have nothing to do with them."""
