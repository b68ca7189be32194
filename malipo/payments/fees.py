"""Fees: which band of a merchant's tariff an amount falls into, and what that costs. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from malipo import money
from malipo.errors import Code, Invalid


class TariffRefusal(Code):
    TWO_BANDS = "tariff_two_bands"
    TAKES_TOO_MUCH = "tariff_takes_too_much"
    LIMITS_CROSSED = "tariff_limits_crossed"
    TAKES_ALL = "tariff_takes_all"


class BadTariff(Invalid):
    """A tariff that could take all of a payment, or that does not say what it means."""


@dataclass(frozen=True, slots=True)
class Band:
    """A band of a tariff: it holds from this amount upwards, until the next band begins."""

    from_amount: int
    fixed_fee: int = 0
    basis_points: int = 0
    min_fee: int = 0
    max_fee: int | None = None

    @property
    def text(self) -> str:
        """As `malipo tariff set` reads it."""
        numbers = (self.from_amount, self.fixed_fee, self.basis_points, self.min_fee, self.max_fee)
        return ":".join(str(each) for each in numbers if each is not None)

    def fee(self, amount: int) -> int:
        """The fixed fee plus the percentage, rounded half up to a whole shilling, between `min_fee` and `max_fee`."""
        fee = max(self.fixed_fee + money.basis_points_of(amount, self.basis_points), self.min_fee)
        return fee if self.max_fee is None else min(fee, self.max_fee)


def fee_of(amount: int, bands: Iterable[Band]) -> int:
    """The fee for this amount; zero for an amount below every band."""
    best: Band | None = None
    for band in bands:
        if band.from_amount <= amount and (best is None or band.from_amount > best.from_amount):
            best = band
    return 0 if best is None else best.fee(amount)


def check(bands: Sequence[Band]) -> None:
    """Refuse a tariff that could take all of a payment, or that does not say what it means."""
    if len({band.from_amount for band in bands}) != len(bands):
        raise BadTariff(code=TariffRefusal.TWO_BANDS)
    for band in bands:
        if min(band.from_amount, band.fixed_fee, band.basis_points, band.min_fee) < 0 or band.basis_points > 10_000:
            raise BadTariff(code=TariffRefusal.TAKES_TOO_MUCH, first=band.from_amount)
        if band.max_fee is not None and band.max_fee < band.min_fee:
            raise BadTariff(code=TariffRefusal.LIMITS_CROSSED, first=band.from_amount)
        # The fee takes the largest share of the smallest amount. If that leaves something, every other amount does.
        lowest = max(band.from_amount, money.MIN_PAYMENT)
        if band.fee(lowest) >= lowest:
            fee = band.fee(lowest)
            raise BadTariff(code=TariffRefusal.TAKES_ALL, first=band.from_amount, fee=fee, amount=lowest)
