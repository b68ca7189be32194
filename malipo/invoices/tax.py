"""VAT as dated data: the rate of a day, and the part of an amount that is VAT. Pure."""

from collections.abc import Sequence
from datetime import date

import msgspec

_WHOLE = 10_000  # basis points


class TaxRate(msgspec.Struct, frozen=True):
    begins_on: date
    basis_points: int  # 1800 is 18 %


def rate_on(rates: Sequence[TaxRate], day: date) -> int | None:
    """The rate of a day in basis points; None if none was set for it."""
    begun = [each for each in rates if each.begins_on <= day]
    return max(begun, key=lambda each: each.begins_on).basis_points if begun else None


def vat_in(gross: int, basis_points: int) -> int:
    """The VAT that an amount contains, rounded to the nearest shilling. Half a shilling is rounded up."""
    if gross < 0:
        return -vat_in(-gross, basis_points)
    whole = _WHOLE + basis_points
    return (2 * gross * basis_points + whole) // (2 * whole)


def percent(basis_points: int) -> str:
    """`18 %`, `7.5 %`."""
    return f"{basis_points / 100:g} %"
