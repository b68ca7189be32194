"""The SQL of what operators decided about exceptions."""
