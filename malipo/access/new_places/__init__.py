"""Log-ins from a new place: a browser that is not known, at an address of a network that was not seen before."""
