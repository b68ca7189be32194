"""Those who run the service: who they are, how they log in, and what they book by hand."""
