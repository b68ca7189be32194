"""The networks' gateways, one file for each. Each knows the interface of its network and no other."""
