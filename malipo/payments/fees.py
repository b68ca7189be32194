"""Fees: which band of a merchant's tariff an amount falls into, and what that costs. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from malipo import money


@dataclass(frozen=True, slots=True)
class Band:
    """From this amount upwards, until the next band begins."""

    from_amount: int
    fixed: int = 0
    basis_points: int = 0
    least: int = 0
    most: int | None = None

    def fee(self, amount: int) -> int:
        """The fixed part and the share, the share rounded half up to a whole shilling, within least and most."""
        fee = max(self.fixed + money.basis_points_of(amount, self.basis_points), self.least)
        return fee if self.most is None else min(fee, self.most)


def fee_of(amount: int, bands: Iterable[Band]) -> int:
    """What this amount costs; an amount below every band costs nothing."""
    fitting = [band for band in bands if band.from_amount <= amount]
    if not fitting:
        return 0
    return max(fitting, key=lambda band: band.from_amount).fee(amount)
