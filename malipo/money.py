"""Whole Tanzanian shillings as `int`. There are no cents, no floats and no decimals anywhere in malipo."""

CURRENCY = "TZS"

# What a bigint column holds. No sum of money comes near it.
LARGEST = 2**63 - 1


def basis_points_of(amount: int, basis_points: int) -> int:
    """A share of an amount in hundredths of a percent, rounded half up to a whole shilling."""
    return (amount * basis_points + 5_000) // 10_000


def display(amount: int) -> str:
    """`TZS 1,250,000`, and `-TZS 500` for a negative amount."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{CURRENCY} {abs(amount):,}"
