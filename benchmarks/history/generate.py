"""The payments of a made-up history: which comes when, from whom, and how it ended follows from its number alone.

So several processes can write parts of one history, and know where in the book each part begins.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type

_FIRST_NAMES = """
    Asha Juma Neema Baraka Zawadi Rehema Hamisi Salma Mwajuma Emmanuel Grace Joseph Fatuma Ally Upendo Daudi
    Amina Said Zuwena Peter Mariamu Godfrey Halima Frank Tumaini Shabani Rose Yusufu Esther Khamis Lightness Paulo
""".split()  # noqa: SIM905
_LAST_NAMES = """
    Mushi Kimaro Massawe Lyimo Mollel Shirima Mrema Swai Temu Urassa Kessy Minja Mboya Komba Mwakalinga Chuwa
    Mwinyi Ngowi Mbwana Mtei Mkude Kavishe Sanga Malima Haule Tarimo Salim Msuya Ndosi Laizer Pinda Mfinanga
""".split()  # noqa: SIM905
RARE_NAME = "Kwayuzi"
_RARE_CUSTOMERS = 40  # buyers of this name, however long the history is

# Of a hundred payments.
_CHANNELS = [Channel.MPESA] * 45 + [Channel.AIRTEL_MONEY] * 25 + [Channel.TIGO_PESA] * 20 + [Channel.HALOPESA] * 10
_ENDS = [Status.COMPLETED] * 88 + [Status.FAILED] * 9 + [Status.CANCELLED] * 3
_TYPES = [Type.COLLECTION] * 85 + [Type.DISBURSEMENT] * 15

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_YEAR_MS = 365 * 86_400_000
_KEPT_MS = 90 * 86_400_000
_TOOK_MS = 9_000


class GeneratedPayment(NamedTuple):
    id: str
    suffix: str
    type: Type
    channel: Channel
    status: Status
    amount: int
    phone: str
    name: str
    created_ms: int
    ended_ms: int
    order: str | None  # the merchant's own number


class Place(NamedTuple):
    """Where in the book a payment begins: what was in the wallet, on which line, and how many events were told."""

    balance: int
    line: int
    events: int


class History:
    """So many payments, the last of them a moment before `end_ms`. No two of one database may share numbers."""

    def __init__(self, size: int, *, first: int, end_ms: int, has_orders: bool = False) -> None:
        self.size = size
        self._has_orders = has_orders
        self.first = first
        self._begin_ms = end_ms - _TOOK_MS - _YEAR_MS
        self._customers = max(size // 20, 50)
        self._rare = min(_RARE_CUSTOMERS, self._customers // 50)
        self.kept_from = bisect_left(
            range(size), end_ms - _KEPT_MS, key=self.created_ms
        )  # whose events are still there

    def payment(self, n: int) -> GeneratedPayment:
        """The nth, from 0."""
        number = self.first + n
        sort, customer = _mixed(number), _mixed(number + 0x9E37) % self._customers
        created_ms = self.created_ms(n)
        type_, status = _sorts(n, sort)
        return GeneratedPayment(
            f"txn_{_base32(created_ms, 10)}{_base32(number, 16)}",
            # As if derived from an Idempotency-Key: without a time, so that it may be anywhere in an index.
            (_base32(_mixed(number) << 13 | customer & 8191, 9) + _base32(_mixed35(number), 7)).upper(),
            type_,
            _CHANNELS[(sort >> 4) % 100],
            status,
            _amount(type_, sort),
            f"+2557{_mixed(customer) % 10**8:08}",
            name_of(customer, self._rare),
            created_ms,
            created_ms + (_TOOK_MS if status is not Status.CANCELLED else 3_000),
            f"order-{number:09}" if self._has_orders else None,
        )

    def created_ms(self, n: int) -> int:
        return self._begin_ms + n * _YEAR_MS // self.size

    def places(self, step: int) -> Iterator[tuple[int, Place]]:
        """Every so many payments: the number of the next one, and where it begins."""
        balance = line = events = 0
        for n in range(self.size):
            if n % step == 0:
                yield n, Place(balance, line, events)
            sort = _mixed(self.first + n)
            type_, status = _sorts(n, sort)
            change, lines = effect_of(type_, status, _amount(type_, sort))
            balance += change
            line += lines
            events += 2 if type_ is Type.COLLECTION else 1
        yield self.size, Place(balance, line, events)


def effect_of(type_: Type, status: Status, amount: int) -> tuple[int, int]:
    """What a payment changed in the wallet, and in how many lines of the statement."""
    if type_ is Type.COLLECTION:
        return (amount, 1) if status is Status.COMPLETED else (0, 0)
    return (-amount, 1) if status is Status.COMPLETED else (0, 2)


def name_of(customer: int, rare: int) -> str:
    if customer < rare:
        return f"{_FIRST_NAMES[customer % 32]} {RARE_NAME}"
    mixed = _mixed(customer)
    return f"{_FIRST_NAMES[mixed % 32]} {_LAST_NAMES[(mixed >> 8) % 32]}"


def _sorts(n: int, sort: int) -> tuple[Type, Status]:
    """At first nobody is paid, because the wallet is empty."""
    return _TYPES[sort % 100] if n > 200 else Type.COLLECTION, _ENDS[(sort >> 12) % 100]


def _amount(type_: Type, sort: int) -> int:
    return 1000 + sort // 7 % (900 if type_ is Type.COLLECTION else 400) * 100


def _mixed(number: int) -> int:
    """Thirty-two bits that look like chance."""
    number = (number ^ number >> 16) * 0x45D9F3B & 0xFFFFFFFF
    number = (number ^ number >> 16) * 0x45D9F3B & 0xFFFFFFFF
    return number ^ number >> 16


def _mixed35(number: int) -> int:
    """Another number for each number below 2 ** 35."""
    return number * 0x5851F42D7 + 0x14057B7EF & (1 << 35) - 1


def _base32(number: int, length: int) -> str:
    pairs = []
    for _ in range((length + 1) // 2):
        pairs.append(_PAIRS[number & 1023])
        number >>= 10
    return "".join(reversed(pairs))[-length:]
