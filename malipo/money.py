"""Whole Tanzanian shillings as `int`. No payment has cents, and nothing is a float or a decimal.

Networks' charges do have cents: `-59.40`. They are whole shillings and the cents beside them, which may be of the other
sign: what was written is amount * 100 + cents.
"""

CURRENCY = "TZS"

# The smallest payment, also the smallest refund. The largest is a setting of each channel.
MIN_PAYMENT = 500

# The largest value of a bigint column. No sum of money comes near it.
LARGEST = 2**63 - 1


def basis_points_of(amount: int, basis_points: int) -> int:
    """A share of an amount in hundredths of a percent, rounded half up to a whole shilling."""
    return (amount * basis_points + 5_000) // 10_000


def split(cents: int) -> tuple[int, int]:
    """The nearest whole shillings, and the cents beside them: `-59.60` is -60 and 40. Half a shilling goes up."""
    amount = (abs(cents) + 50) // 100
    amount = -amount if cents < 0 else amount
    return amount, cents - amount * 100


def split_movement(cents: int) -> tuple[int, int]:
    """Split an amount that moved. The shillings are never 0, unless nothing moved: `-0.40` is -1 and 60."""
    amount, rest = split(cents)
    if amount == 0 and cents != 0:
        amount = -1 if cents < 0 else 1
    return amount, rest if amount == 0 else cents - amount * 100


def exact(amount: int, cents: int) -> str:
    """An amount as a network writes it: `-1,059.40`; without cents, `-1,059`."""
    total = amount * 100 + cents
    shillings, rest = divmod(abs(total), 100)
    return f"{'-' if total < 0 else ''}{shillings:,}" + (f".{rest:02}" if rest else "")


def display(amount: int) -> str:
    """`TZS 1,250,000`, and `-TZS 500` for a negative amount."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{CURRENCY} {abs(amount):,}"
