"""What a seed makes happen: payments that merchants ask for, and faults. Pure, and drawn before the run begins.

A fault names its moment by a count ("the 7th request to a network", "the 300th step of worker1") or by a time, so that
the others stay what they are when one is left out. That is what makes a failing run shrinkable.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel, Type
from simulation.links import planned
from simulation.links.planned import PlannedLink
from simulation.settlements import planned as settlements_planned
from simulation.settlements.planned import PlannedSettlements

TRAFFIC_SECONDS = 5.0
# Faults after which the database is an earlier one: a backup, or a standby that lagged.
LOSING = ("restore", "failover-losing")
FAULT_SECONDS = 12.0
_BURST_SECONDS = 2.5
_FIRST_BURST = 1.0  # Not before the worker has looked: a host without a mark fences a database that has payments.
_CROWD = 25  # So many payments more have as many faults more.
# Not before the worker has looked, and while merchants still pay: at other times a hold stops nothing.
_HELD, _HELD_FROM = 0.08, (_FIRST_BURST, TRAFFIC_SECONDS - 1)
_LARGE = 4  # One payout of so many is large.
_TWINS, _FIRST_TWIN = 0.25, 20_000
_REFUNDS = ("", "", "all", "parts", "raced", "repeated")
# Phones that are told FAILED and paid all the same: see docs/simulator.md. Their refunds are made again at once.
_PAID_AFTER_ALL = ("110", "111")


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """`kind` says what, `at` when: a count or a time. The others are used by some kinds."""

    kind: str
    at: float = 0
    target: str = ""
    seconds: float = 0
    code: str = ""

    def __str__(self) -> str:
        words = [self.kind, self.target, f"at {self.at:g}"]
        if self.seconds:
            words.append(f"for {self.seconds:g} s")
        return " ".join(word for word in (*words, self.code) if word)


class PlannedPayment(msgspec.Struct, frozen=True):
    """What a merchant wants, however often it is asked for."""

    number: int
    merchant: int
    type: str
    channel: str
    amount: int
    phone: str
    at: float
    repeats: int  # sent so often in all, though it was answered
    is_raced: bool  # twice at once, to two API processes
    cancelled_after: float | None
    refund: str = ""  # how a collection is given back when it was paid, if it is
    twin_of: int | None = None  # the same amount to the same phone once more, on purpose: after a restore

    @property
    def key(self) -> str:
        return f"order-{self.number}"


@dataclass(frozen=True)
class Plan:
    seed: int
    channels: tuple[str, ...]
    workers: int
    payments: tuple[PlannedPayment, ...]
    faults: tuple[Fault, ...]
    links: tuple[PlannedLink, ...] = ()
    has_customers: bool = False  # There are pay pages, and a receipt log.
    settlements: PlannedSettlements | None = None

    @property
    def gateways(self) -> tuple[str, ...]:
        """HaloPesa has no payouts of its own: an aggregator makes them."""
        return (*self.channels, "CLICKPESA") if "HALOPESA" in self.channels else self.channels

    def without(self, faults: Collection[Fault]) -> "Plan":
        return replace(self, faults=tuple(each for each in self.faults if each not in faults))


# How often a phone does what, by the last three digits of its number: see docs/simulator.md.
_DIGITS = {
    "": 12,
    "100": 1,
    "101": 2,
    "102": 2,
    "103": 1,
    "104": 3,
    "105": 3,
    "106": 2,
    "107": 3,
    "108": 2,
    "109": 1,
    "110": 2,
    "111": 2,
    "112": 2,
}

_GATEWAYS = ("MPESA", "AIRTEL_MONEY", "TIGO_PESA", "HALOPESA", "CLICKPESA")


def _draw_counted(most: int) -> Any:
    def draw(chance: random.Random, kind: str, crowd: int) -> Fault:
        at = chance.randrange(1, most * crowd)
        return Fault(kind, at, seconds=round(chance.choice((0.2, 1, 4, 12)) * chance.random(), 2))

    return draw


def _process(chance: random.Random) -> str:
    return chance.choice(("worker1", "worker1", "worker2", "api1", "api2"))


def _kill(chance: random.Random, kind: str, crowd: int) -> Fault:
    target = _process(chance)
    steps = 2500 if target.startswith("worker") else 500
    return Fault(kind, chance.randrange(1, steps * crowd), target, round(chance.uniform(0.1, 4), 2))


def _pause(chance: random.Random, kind: str, crowd: int) -> Fault:
    return Fault(
        kind, _moment(chance), _process(chance), round(chance.choice((2, 9, 20)) * chance.uniform(0.8, 1.2), 2)
    )


def _moment(chance: random.Random) -> float:
    return round(chance.uniform(0.5, FAULT_SECONDS), 2)


def _timed(*seconds: float) -> Any:
    def draw(chance: random.Random, kind: str, crowd: int) -> Fault:
        return Fault(kind, _moment(chance), seconds=round(chance.choice(seconds) * chance.uniform(0.5, 1.5), 2))

    return draw


def _at_gateway(*seconds: float, codes: tuple[str, ...] = ("",)) -> Any:
    def draw(chance: random.Random, kind: str, crowd: int) -> Fault:
        span = round(chance.choice(seconds) * chance.uniform(0.5, 1.5), 2)
        return Fault(kind, _moment(chance), chance.choice(_GATEWAYS), span, chance.choice(codes))

    return draw


def _clock(chance: random.Random, kind: str, crowd: int) -> Fault:
    return Fault(kind, 0, _process(chance), round(chance.choice((-1, 1)) * chance.choice((1, 10, 40)), 2))


def _merchant(chance: random.Random, kind: str, crowd: int) -> Fault:
    return Fault(kind, _moment(chance), str(chance.randrange(2)), round(chance.uniform(1, 8), 2))


# Each kind of fault: how often it is drawn, and how.
KINDS: dict[str, tuple[int, Any]] = {
    "network-refused": (2, _draw_counted(40)),
    "network-request-lost": (4, _draw_counted(60)),
    "network-reply-lost": (6, _draw_counted(60)),
    "network-request-late": (3, _draw_counted(60)),
    "network-reply-late": (4, _draw_counted(60)),
    "network-request-twice": (3, _draw_counted(60)),
    "callback-lost": (4, _draw_counted(15)),
    "callback-late": (4, _draw_counted(15)),
    "callback-twice": (3, _draw_counted(15)),
    "callback-reply-lost": (2, _draw_counted(15)),
    "webhook-lost": (2, _draw_counted(30)),
    "webhook-reply-lost": (2, _draw_counted(30)),
    "webhook-late": (1, _draw_counted(30)),
    "merchant-request-lost": (2, _draw_counted(20)),
    "merchant-reply-lost": (3, _draw_counted(20)),
    "merchant-request-twice": (2, _draw_counted(20)),
    "commit-lost-before": (4, _draw_counted(120)),
    "commit-lost-after": (7, _draw_counted(120)),
    "connection-lost": (3, _draw_counted(600)),
    "kill": (9, _kill),
    "pause": (4, _pause),
    "database-restart": (3, _timed(0.2, 3)),
    "failover": (2, _timed(1, 6)),
    "failover-losing": (2, _timed(1, 4)),
    "restore": (3, _timed(1, 4)),
    "clock": (2, _clock),
    "network-down": (2, _at_gateway(2, 8)),
    "network-forgets": (3, _at_gateway(1, 3)),
    "network-indexes-late": (3, _at_gateway(2, 6)),
    "network-nonsense": (2, _at_gateway(3, 8, codes=("E999", "INS-6140", "500"))),
    "network-errors": (2, _at_gateway(2, 6)),
    "callbacks-delayed": (2, _at_gateway(3, 15)),
    "operator-mistaken": (2, _timed(1)),
    "merchant-closed": (1, _merchant),
    "tariff-changed": (1, _merchant),
    "hold": (1, _timed(3)),
    "network-pays-again": (0, None),  # These are not drawn with the others: see below.
    "customer-request-lost": (0, None),
    "customer-reply-lost": (0, None),
    "customer-request-twice": (0, None),
}

# What this network does with a repeated key is not published. In half of the runs it pays again, as long as they last.
_UNSAFE = "TIGO_PESA"
_PAYS_AGAIN = Fault("network-pays-again", 0, _UNSAFE, 200)
# What the way to a network doubles that takes a key again, no service can make one again.
_CANNOT_BE_ONCE = "network-request-twice"
_SAYS_NOT_FOUND = "INS-6140"  # in M-Pesa's words
# What happens to requests of customers, in runs that have any.
_OF_CUSTOMERS = ("customer-request-lost", "customer-reply-lost", "customer-reply-lost", "customer-request-twice")
_MOST_OF_CUSTOMERS = 40


def draw(
    seed: int,
    *,
    payments: int,
    kinds: Collection[str] | None = None,
    has_restore: bool = False,
    has_links: bool = True,
    has_settlements: bool = True,
) -> Plan:
    """`has_restore`: a seed that draws none has one all the same. `has_links`: False, and no seed has links, pay pages
    or receipts. `has_settlements`: False, and no seed has settlements, nor days after its run."""
    chance = random.Random(f"plan {seed}")
    channels = tuple(sorted(chance.sample([str(each) for each in Channel], chance.choice((1, 2, 2, 3)))))
    returns = random.Random(f"refunds {seed}")
    wanted = tuple(_with_refund(returns, _payment(chance, number, channels)) for number in range(payments))
    names = list(KINDS)
    weights = [KINDS[name][0] for name in names]
    crowd = max(1, payments // _CROWD)
    drawn = chance.choices(names, weights, k=chance.choice((0, 2, 5, 9, 14)) * crowd)
    faults = [KINDS[name][1](chance, name, crowd) for name in drawn]
    losing = [each for each in faults if each.kind in LOSING]
    faults = [each for each in faults if each not in losing[1:]]  # One backup a run.
    plan = Plan(seed, channels, chance.choice((1, 1, 2)), wanted, ())
    if _UNSAFE in channels and random.Random(f"unsafe {seed}").random() < 0.5:
        faults = [_PAYS_AGAIN, *(each for each in faults if each.kind != _CANNOT_BE_ONCE)]
    if any(each.kind == "network-forgets" for each in faults):
        faults = [each for each in faults if each.kind != _CANNOT_BE_ONCE]
    held = random.Random(f"hold {seed}")
    if held.random() < _HELD:
        faults.append(Fault("hold", round(held.uniform(*_HELD_FROM), 2), seconds=round(held.uniform(2, 5), 2)))
    if has_restore and not losing:
        always = random.Random(f"restore {seed}")
        faults.append(Fault("restore", round(always.uniform(2, 9), 2), seconds=round(always.uniform(0.5, 4), 2)))
    met = dict.fromkeys(_where_somebody_is(fault, plan, chance) for fault in faults)
    # Nor can a service know of a payout if its gateway says that there is none, and then takes its key again.
    forgetful = {each.target for each in met if each.kind == "network-forgets"}
    met = {each: None for each in met if each.target not in forgetful or each.code != _SAYS_NOT_FOUND}
    links = planned.draw(seed, channels) if has_links else ()
    met |= dict.fromkeys(_faults_of_customers(seed) if links else ())
    kept = tuple(each for each in met if kinds is None or each.kind in kinds)
    settlements = settlements_planned.draw(seed) if has_settlements else None
    return replace(plan, faults=kept, links=links, has_customers=bool(links), settlements=settlements)


def _faults_of_customers(seed: int) -> list[Fault]:
    chance = random.Random(f"faults of customers {seed}")
    drawn = chance.choices(_OF_CUSTOMERS, k=chance.choice((0, 1, 2, 4)))
    draw = _draw_counted(_MOST_OF_CUSTOMERS)
    return [draw(chance, kind, 1) for kind in drawn]


def twins_of(plan: Plan) -> tuple[PlannedPayment, ...]:
    """Payouts that merchants wish for after a restore, like ones before it: another salary, and not a repeat."""
    if not any(fault.kind in LOSING for fault in plan.faults):
        return ()
    payouts = [each for each in plan.payments if each.type == Type.DISBURSEMENT]
    like = [each for each in payouts if random.Random(f"twin {plan.seed} {each.number}").random() < _TWINS]
    return tuple(
        msgspec.structs.replace(each, number=_FIRST_TWIN + each.number, twin_of=each.number, repeats=1, is_raced=False)
        for each in like
    )


def _where_somebody_is(fault: Fault, plan: Plan, chance: random.Random) -> Fault:
    """The same fault at a gateway or worker that takes part in this run."""
    if fault.target in _GATEWAYS and fault.target not in plan.gateways:
        return msgspec.structs.replace(fault, target=chance.choice(plan.gateways))
    if fault.target == "worker2" and plan.workers == 1:
        return msgspec.structs.replace(fault, target="worker1")
    return fault


def _amount(number: int, type_: Type) -> int:
    """Some payouts are so large that a wallet can pay one, and not two."""
    return 1000 + number + (1_200_000 if type_ is Type.DISBURSEMENT and number % _LARGE == _LARGE - 1 else 0)


def _together(number: int, at: float) -> float:
    """Half of the payments are asked for at a few moments, so that what locks one another up meets."""
    return at // _BURST_SECONDS * _BURST_SECONDS + _FIRST_BURST if number % 2 else at


def _payment(chance: random.Random, number: int, channels: tuple[str, ...]) -> PlannedPayment:
    channel = chance.choice(channels)
    digits = chance.choices(list(_DIGITS), list(_DIGITS.values()))[0] or f"{chance.randrange(200, 1000)}"
    merchant = chance.randrange(2)
    type_ = chance.choice((Type.COLLECTION, Type.DISBURSEMENT, Type.DISBURSEMENT))
    return PlannedPayment(
        number=number,
        merchant=merchant,
        type=type_,
        channel=channel,
        amount=_amount(number, type_),
        phone=f"{PROFILES[Channel(channel)].prefixes[0]}{number:04}{digits}",
        at=_together(number, round(chance.uniform(0, TRAFFIC_SECONDS), 3)),
        repeats=chance.choice((1, 1, 1, 2, 3)),
        is_raced=chance.random() < 0.15,
        cancelled_after=round(chance.uniform(0, 3), 2) if chance.random() < 0.15 else None,
    )


def _with_refund(chance: random.Random, payment: PlannedPayment) -> PlannedPayment:
    """Drawn apart, so that payments and faults are what they were without refunds."""
    refund = chance.choice(_REFUNDS)
    if payment.phone[-3:] in _PAID_AFTER_ALL:
        refund = "insisting"
    return payment if payment.type != Type.COLLECTION else msgspec.structs.replace(payment, refund=refund)
