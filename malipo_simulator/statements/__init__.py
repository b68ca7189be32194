"""Statements of a merchant's account at each network, for a day, in that network's own layout."""
