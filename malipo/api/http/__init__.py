"""HTTP/1.1 between a socket and the application: parsing, writing, time limits, and how many connections there are."""
