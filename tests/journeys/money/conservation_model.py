"""What ought to become of every shilling: a model written from the specification, with its own table and arithmetic; and
plans of what may happen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from malipo.networks.connector import Channel
from malipo.payments.transaction import Cause, Type

WALLET = 20_000
CHANNELS = [Channel.MPESA, Channel.HALOPESA]


@dataclass(frozen=True)
class Band:
    """A tariff's band; its fee stays below the smallest amount there is."""

    type: Type
    channel: Channel
    from_amount: int
    fixed: int
    basis_points: int
    least: int
    most: int

    def fee(self, amount: int) -> int:
        share, rest = divmod(amount * self.basis_points, 10_000)
        fee = self.fixed + share + (1 if rest * 2 >= 10_000 else 0)
        return min(max(fee, self.least), self.most)


@dataclass(frozen=True)
class Create:
    type: Type
    channel: Channel
    amount: int
    key: str | None


@dataclass(frozen=True)
class Happen:
    """Something happens to the nth of the transactions there are, counted round and round; -1 is none of them."""

    nth: int
    cause: Cause


Batch = list[Create] | list[Happen] | list[int]  # requests, news, or cancellations of the nth

AMOUNTS = st.sampled_from([500, 501, 999, 1000, 3333, 7000, 15_000])
NTH = st.integers(-1, 12)
CREATES = st.builds(
    Create, st.sampled_from(Type), st.sampled_from(CHANNELS), AMOUNTS, st.sampled_from([None, None, None, "a", "b"])
)
HAPPENINGS = st.builds(Happen, NTH, st.sampled_from(Cause))
# The usual way through, so that ends are reached and not only begun.
FATES = st.builds(
    lambda nth, end: [Happen(nth, Cause.SUBMITTED), Happen(nth, end)],
    NTH,
    st.sampled_from([Cause.CONFIRMED, Cause.REFUSED]),
)
BATCHES: st.SearchStrategy[Batch] = st.one_of(
    st.lists(CREATES, min_size=1, max_size=6),
    st.lists(HAPPENINGS, min_size=3, max_size=12),
    st.lists(FATES, min_size=1, max_size=3).map(lambda fates: [each for fate in fates for each in fate]),
    st.lists(NTH, min_size=1, max_size=4),
)
PLANS = st.lists(CREATES, min_size=2, max_size=6).flatmap(
    lambda first: st.lists(BATCHES, min_size=1, max_size=8).map(lambda rest: [first, *rest])
)
BANDS = st.lists(
    st.builds(
        Band,
        st.sampled_from(Type),
        st.sampled_from(CHANNELS),
        st.sampled_from([0, 600, 5000]),
        st.integers(0, 300),
        st.sampled_from([0, 5, 50, 333]),
        st.integers(0, 100),
        st.integers(100, 499),
    ),
    max_size=4,
    unique_by=lambda band: (band.type, band.channel, band.from_amount),
)

NEXT = {
    ("PENDING", "submitted"): "PROCESSING",
    ("PENDING", "withdrawn"): "CANCELLED",
    ("PENDING", "lapsed"): "FAILED",
    ("PENDING", "unconnected"): "FAILED",
    ("PROCESSING", "confirmed"): "COMPLETED",
    ("PROCESSING", "refused"): "FAILED",
}


@dataclass(eq=False)
class Expected:
    """One transaction as it must be."""

    create: Create
    fee: int
    status: str = "PENDING"
    reached: list[str] = field(default_factory=lambda: ["PENDING"])

    @property
    def is_payout(self) -> bool:
        return self.create.type is Type.DISBURSEMENT


class Model:
    def __init__(self, bands: Sequence[Band]) -> None:
        self._bands = bands
        self._keys: dict[tuple[Type, str], Expected] = {}
        self.transactions: list[Expected] = []

    @property
    def wallet(self) -> int:
        balance = WALLET
        for each in self.transactions:
            if each.is_payout and each.status not in ("FAILED", "CANCELLED"):
                balance -= each.create.amount + each.fee
            if not each.is_payout and each.status == "COMPLETED":
                balance += each.create.amount - each.fee
        return balance

    @property
    def in_flight(self) -> int:
        open_payouts = [each for each in self.transactions if each.is_payout and each.status in OPEN]
        return sum(each.create.amount + each.fee for each in open_payouts)

    def fee(self, create: Create) -> int:
        fitting = [
            band
            for band in self._bands
            if (band.type, band.channel) == (create.type, create.channel) and band.from_amount <= create.amount
        ]
        return max(fitting, key=lambda band: band.from_amount).fee(create.amount) if fitting else 0

    def create(self, create: Create) -> tuple[str, Expected | None]:
        """What must be answered: created, replayed, reused or poor; and of which transaction."""
        claim = (create.type, create.key) if create.key is not None else None
        if claim is not None and claim in self._keys:
            known = self._keys[claim]
            same = (known.create.amount, known.create.channel) == (create.amount, create.channel)
            return ("replayed", known) if same else ("reused", None)
        fee = self.fee(create)
        if create.type is Type.DISBURSEMENT and create.amount + fee > self.wallet:
            return "poor", None
        self.transactions.append(Expected(create, fee))
        if claim is not None:
            self._keys[claim] = self.transactions[-1]
        return "created", self.transactions[-1]

    def happen(self, nth: int, cause: str) -> bool | None:
        """Whether it moves the transaction; None if there is none."""
        if nth < 0:
            return None
        each = self.transactions[nth]
        after = NEXT.get((each.status, cause))
        if after is None or (each.is_payout and cause == "lapsed"):
            return False
        each.status = after
        each.reached.append(after)
        return True


OPEN = ("PENDING", "PROCESSING")
