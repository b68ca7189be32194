"""Which links a seed makes merchants make, and which customers come to them. Pure.

It is drawn apart, so that payments and faults are what they were without links. A third of the seeds have none.
"""

import random
from collections.abc import Sequence

import msgspec

from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel

_HOW_MANY = (0, 0, 1, 1, 2, 3)
_CUSTOMERS = (1, 2, 2, 3, 4)
_FIRST_PHONE = 7000  # Payments have the numbers before it, batches those from 9000 on.
_PHONES_OF_LINK = 10
_COME_SECONDS = 7.0
_TOGETHER = 0.5  # So many links have all their customers at one moment.
_PLAIN = "plain"
# What a customer does. Each is told in `customers.py`.
_HABITS = {
    _PLAIN: 3,
    "twice": 3,  # presses twice at once
    "two-browsers": 3,  # the same number in two browsers at once
    "reloads": 2,  # loads the page anew when no answer came, and presses what it shows
    "withdraws": 1,  # stops the payment before it was sent
    "another-number": 3,  # when the outcome is not known, with another number, and knowing that both may pay
    "eager": 3,  # presses again and again while somebody else is being asked
    "pest": 2,  # presses until the number is left in peace
}
_MOST_TRIES = {"pest": 8}
# What a phone does, by the last digits of its number: pays; waits, declines, has no money, lets it expire, and so on.
_DIGITS = {
    "": 10,
    "100": 1,
    "101": 3,
    "102": 1,
    "103": 2,
    "104": 2,
    "105": 3,
    "106": 1,
    "107": 1,
    "108": 1,
    "109": 2,
    "110": 3,
    "111": 2,
    "112": 2,
}


class PlannedCustomer(msgspec.Struct, frozen=True):
    phone: str
    other_phone: str  # for who tries another number
    amount: int  # typed, where the link has none
    at: float
    habit: str
    tries: int  # so often again when it was not paid
    follows_state: bool  # as the page's script does; else the page looks again by itself
    elsewhere: int | None = None  # another link of the same merchant, at which the same number is pressed at once


class PlannedLink(msgspec.Struct, frozen=True):
    number: int
    merchant: int
    amount: int | None
    is_reusable: bool
    max_payments: int | None
    at: float
    expires_after: float | None
    cancelled_after: float | None
    is_raced: bool  # made twice at once, by two API processes
    customers: tuple[PlannedCustomer, ...]

    @property
    def key(self) -> str:
        return f"link-{self.number}"

    @property
    def places(self) -> int | None:
        """How often it may be paid; None: any number of times."""
        return self.max_payments if self.is_reusable else 1


def draw(seed: int, channels: Sequence[str]) -> tuple[PlannedLink, ...]:
    chance = random.Random(f"links {seed}")
    drawn = [_link(chance, number, channels) for number in range(chance.choice(_HOW_MANY))]
    return tuple(_with_two_links(chance, each, drawn) for each in drawn)


def _link(chance: random.Random, number: int, channels: Sequence[str]) -> PlannedLink:
    is_reusable = chance.random() < 0.35
    at = round(chance.uniform(0.5, 3), 3)
    together = round(at + chance.uniform(0.3, 3), 3) if chance.random() < _TOGETHER else None
    count = chance.choice(_CUSTOMERS)
    return PlannedLink(
        number=number,
        merchant=chance.randrange(2),
        amount=None if chance.random() < 0.25 else 2000 + number,
        is_reusable=is_reusable,
        max_payments=chance.choice((None, 1, 2)) if is_reusable else None,
        at=at,
        expires_after=round(chance.uniform(1, 9), 3) if chance.random() < 0.3 else None,
        cancelled_after=round(chance.uniform(0.5, 9), 3) if chance.random() < 0.25 else None,
        is_raced=chance.random() < 0.2,
        customers=tuple(_customer(chance, number, place, channels, together) for place in range(count)),
    )


def _customer(
    chance: random.Random, link: int, place: int, channels: Sequence[str], together: float | None
) -> PlannedCustomer:
    first = _FIRST_PHONE + link * _PHONES_OF_LINK + place * 2
    habit = chance.choices(list(_HABITS), list(_HABITS.values()))[0]
    alone = round(chance.uniform(1, _COME_SECONDS), 3)
    return PlannedCustomer(
        phone=_phone(chance, first, channels),
        other_phone=_phone(chance, first + 1, channels),
        amount=3000 + 10 * link + place,
        at=alone if together is None else together,
        habit=habit,
        tries=_MOST_TRIES.get(habit) or chance.choice((1, 1, 2, 3)),
        follows_state=chance.random() < 0.3,
    )


def _phone(chance: random.Random, number: int, channels: Sequence[str]) -> str:
    digits = chance.choices(list(_DIGITS), list(_DIGITS.values()))[0] or f"{chance.randrange(200, 1000)}"
    return f"{PROFILES[Channel(chance.choice(channels))].prefixes[0]}{number:04}{digits}"


def _with_two_links(chance: random.Random, link: PlannedLink, drawn: Sequence[PlannedLink]) -> PlannedLink:
    """Some customers press at two links of their merchant at once."""
    others = [each.number for each in drawn if each.merchant == link.merchant and each.number != link.number]
    customers = tuple(
        msgspec.structs.replace(each, elsewhere=chance.choice(others)) if others and chance.random() < 0.4 else each
        for each in link.customers
    )
    return msgspec.structs.replace(link, customers=customers)
