"""The networks' gateways, one file for each. They know the wire of their network and nothing of each other."""
