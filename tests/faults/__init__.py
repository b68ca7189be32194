"""Faults that tests must find: the list, how each is put into a copy of the sources, and which tests are tried."""
