"""The pages that the API shows to people: what stands in them, their template and their style."""
