"""/operator: pages for operators, who run the service."""
