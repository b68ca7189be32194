"""Which batches a seed makes merchants make. Pure, and drawn apart, so that payments and faults are what they were."""

import random

import msgspec

from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel
from simulation.plan import TRAFFIC_SECONDS, Plan

_HOW_MANY = (0, 0, 1, 1, 2)
_FIRST_PHONE = 9000  # Payments have the numbers before it.
# What a phone does, by the last digits of its number: pays, refuses, is slow, answers nothing.
_DIGITS = ("", "", "", "101", "104", "105", "107")


class PlannedItem(msgspec.Struct, frozen=True):
    channel: str
    amount: int
    phone: str


class PlannedBatch(msgspec.Struct, frozen=True):
    number: int
    merchant: int
    items: tuple[PlannedItem, ...]
    at: float
    fate: str  # approved, cancelled, raced (both at once), stopped (cancelled while it runs)
    approvals: int  # so many at once, to two API processes
    pause: float  # between making it and deciding, and between approving and stopping

    @property
    def key(self) -> str:
        return f"batch-{self.number}"


def batches_of(plan: Plan) -> tuple[PlannedBatch, ...]:
    chance = random.Random(f"batches {plan.seed}")
    return tuple(_batch(chance, plan, number) for number in range(chance.choice(_HOW_MANY)))


def _batch(chance: random.Random, plan: Plan, number: int) -> PlannedBatch:
    return PlannedBatch(
        number=number,
        merchant=chance.randrange(2),
        items=tuple(_item(chance, plan, 10 * number + place) for place in range(chance.randrange(2, 8))),
        at=round(chance.uniform(1, TRAFFIC_SECONDS), 3),
        fate=chance.choice(("approved", "approved", "approved", "cancelled", "raced", "stopped")),
        approvals=chance.choice((1, 1, 2)),
        pause=round(chance.uniform(0, 2), 3),
    )


def _item(chance: random.Random, plan: Plan, number: int) -> PlannedItem:
    channel = chance.choice(plan.channels)
    digits = chance.choice(_DIGITS) or f"{chance.randrange(200, 1000)}"
    phone = f"{PROFILES[Channel(channel)].prefixes[0]}{_FIRST_PHONE + number:04}{digits}"
    return PlannedItem(channel, 1000 + number, phone)
