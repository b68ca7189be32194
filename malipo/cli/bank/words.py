"""Words and amounts of the bank, as the terminal prints them. Pure."""

from malipo import money

APPROVE_AT = "Another operator must approve it: malipo bank approve {name}"


def cents(value: int) -> str:
    """An amount in cents, as a statement writes it."""
    return money.exact(0, value)
