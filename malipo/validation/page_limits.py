"""How many rows a page of a list has, and how many pages can be asked for. Pure."""

PER_PAGE = 20
MOST_PER_PAGE = 100
MOST_PAGES = 1_000_000_000
