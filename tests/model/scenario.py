"""What happens to one payment: what its network is like, and what goes wrong, as a list. A seed draws one.

Without faults the request arrives, the customer pays after twenty seconds, and everybody says so in time.
"""

import math
import random
from enum import StrEnum

import msgspec

from malipo.networks.connector import Resubmit, Type, Verdict

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


class Kind(StrEnum):
    """What can go wrong. `nth` counts sendings or callbacks from 0; `at` is seconds after the payment was made."""

    # the worker, and the way to the network
    UNSENT = "sending nth: the connection is refused"
    REQUEST_LOST = "sending nth: the request is lost on the way"
    REPLY_LOST = "sending nth: the reply is lost"
    WORKER_DIES_BEFORE = "sending nth: the worker dies after the claim, before the request"
    WORKER_DIES_AFTER = "sending nth: the worker dies after the request, before the reply is written"
    REPLY_SLOW = "sending nth: the reply takes long"
    ARRIVES_LATE = "sending nth: the request lies in a queue of the network before it is taken in"
    REPLY_WRONG = "sending nth: the network takes it in, and its reply says refused"
    REFUSED_AT_THE_DOOR = "sending nth: the network refuses to take it in"
    TAKEN_UP_LATE = "no worker takes it up for a time"
    # what the customer and the network do
    DECIDES_LATE = "the customer takes long"
    NEVER_DECIDES = "the network never decides"
    DECLINES = "the customer declines"
    EXPIRES = "the customer does not answer in time"
    PAID_AFTER_FAILED = "after FAILED the money moves, and the network says so"
    PAID_AFTER_FAILED_SILENTLY = "after FAILED the money moves, without a word"
    TAKEN_BACK = "after success the money goes back, and the network says so"
    TAKEN_BACK_SILENTLY = "after success the money goes back, without a word"
    OTHER_AMOUNT = "another amount moves"
    # the query
    INDEXED_LATE = "the query does not find it for a time after its arrival"
    QUERY_DOWN = "the query is broken from `at` on, for a time"
    QUERY_REFUSES_US = "the query refuses our credentials from `at` on, for a time"
    QUERY_IN_PROGRESS = "the query says in progress from `at` on, for a time"
    QUERY_LOSES_IT = "the query does not find it from `at` on, for a time"
    QUERY_SLOW = "answers of the query take 20 s from `at` on, for a time"
    QUERY_WITHOUT_AMOUNT = "the query leaves the amount out"
    FORGETS = "the network forgets the key some time after its arrival"
    # callbacks
    CALLBACK_LOST = "callback nth is lost"
    CALLBACK_LATE = "callback nth is late"
    CALLBACK_TWICE = "callback nth comes again"
    CALLBACK_WITHOUT_AMOUNT = "callback nth leaves the amount out"
    CALLBACK_OTHER_AMOUNT = "callback nth names another amount"
    FORGED_SUCCESS = "somebody forges a success at `at`"
    FORGED_FAILURE = "somebody forges a failure at `at`"
    # people
    CANCELLED = "the merchant cancels at `at`, if it is not yet on its way"
    OPERATORS_SAY_FAILED = "operators end it as FAILED at `at`, if nothing has moved by then"
    HOUSE_BEARS = "operators let the house bear what is due"
    CASE_LEFT_OPEN = "operators leave the case open"
    WALLET_SHORT = "the wallet holds less than it owes when operators decide"


class Fault(msgspec.Struct, frozen=True):
    kind: Kind
    nth: int = 0
    at: float = 0.0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind.name:<27} nth={self.nth} at={self.at:.0f} seconds={self.seconds:.0f}   # {self.kind.value}"


class Duplicates(StrEnum):
    REFUSED = "refused"  # a key that is known is never taken in again
    TAKEN = "taken"  # the same request again is another payment


class Nature(msgspec.Struct, frozen=True, kw_only=True):
    """What a network is like, and what its connector declares of it."""

    type: Type = Type.COLLECTION
    has_query: bool = True
    not_found: Verdict = Verdict.MISSING  # what its query says of a key that it does not find
    duplicates: Duplicates = Duplicates.REFUSED
    resubmit: Resubmit = Resubmit.DUPLICATES_REFUSED
    refuses_repeats: bool = False  # the reply to a repeated key reads as a refusal, not as "unknown"
    is_synchronous: bool = False  # the reply waits for the decision
    is_signed: bool = False
    is_listed: bool = False
    names_amount: bool = True  # in callbacks
    fee: int = 0


class Scenario(msgspec.Struct, frozen=True):
    nature: Nature
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        changed = {
            name: str(value)
            for name, value in msgspec.structs.asdict(self.nature).items()
            if value != getattr(Nature(), name)
        }
        return "\n".join([f"  network: {changed or 'as usual'}", *(f"  {fault}" for fault in self.faults)])


_ONLY_ONCE = frozenset({Kind.OTHER_AMOUNT, Kind.FORGETS, Kind.INDEXED_LATE, Kind.NEVER_DECIDES})
_UNHEARD_OF = (Kind.REQUEST_LOST, Kind.WORKER_DIES_BEFORE, Kind.WORKER_DIES_AFTER, Kind.ARRIVES_LATE, Kind.UNSENT)
# Faults that seldom meet by chance, each with the latest beginning and the longest time.
_PLOTS: tuple[tuple[tuple[Kind, float, float], ...], ...] = (
    ((Kind.PAID_AFTER_FAILED, 0, 25), (Kind.QUERY_SLOW, 30, HOUR)),
    ((Kind.UNSENT, 0, 5), (Kind.FORGED_SUCCESS, 10, 0)),
    ((Kind.UNSENT, 0, 7), (Kind.FORGED_SUCCESS, 12, 0)),
    ((Kind.REPLY_WRONG, 0, 300), (Kind.QUERY_IN_PROGRESS, 30, HOUR)),
    ((Kind.PAID_AFTER_FAILED, 0, HOUR), (Kind.TAKEN_BACK, 0, 3 * DAY), (Kind.HOUSE_BEARS, 0, 0)),
    ((Kind.TAKEN_BACK, 0, HOUR), (Kind.WALLET_SHORT, 0, 0)),
    ((Kind.PAID_AFTER_FAILED, 0, HOUR), (Kind.CALLBACK_TWICE, 0, DAY)),
    ((Kind.NEVER_DECIDES, 0, 0), (Kind.QUERY_LOSES_IT, HOUR, DAY)),
    ((Kind.OTHER_AMOUNT, 0, 0), (Kind.PAID_AFTER_FAILED, 0, 300), (Kind.CALLBACK_LATE, 0, HOUR)),
)
_LONG = frozenset({Kind.FORGETS})


def draw(seed: int) -> Scenario:
    """The script of a seed, always the same."""
    rng = random.Random(seed)
    nature = _nature(rng)
    faults: list[Fault] = []
    if rng.random() < 0.3:  # Much of what is to be guarded against begins with a request that nobody knows of.
        faults.append(Fault(rng.choice(_UNHEARD_OF), 0, 0.0, _spread(rng, 60.0, DAY)))
    elif rng.random() < 0.3:
        plot = [Fault(kind, 0, rng.uniform(0, at), rng.uniform(5, most)) for kind, at, most in rng.choice(_PLOTS)]
        faults += [each for each in plot if _is_possible(nature, each)]
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8))):
        fault = _fault(rng)
        if fault.kind in _ONLY_ONCE and any(each.kind is fault.kind for each in faults):
            continue
        if _is_possible(nature, fault):
            faults.append(fault)
    return Scenario(nature, tuple(faults))


def _nature(rng: random.Random) -> Nature:
    duplicates, resubmit = rng.choice(
        (
            (Duplicates.REFUSED, Resubmit.DUPLICATES_REFUSED),
            (Duplicates.REFUSED, Resubmit.DUPLICATES_REFUSED),
            (Duplicates.REFUSED, Resubmit.UNSAFE),
            (Duplicates.TAKEN, Resubmit.UNSAFE),
            (Duplicates.TAKEN, Resubmit.QUERY_AUTHORITATIVE),
        )
    )
    return Nature(
        type=rng.choice(tuple(Type)),
        has_query=rng.random() < 0.8,
        not_found=rng.choice((Verdict.MISSING, Verdict.MISSING, Verdict.NOT_INDEXED, Verdict.UNKNOWN)),
        duplicates=duplicates,
        resubmit=resubmit,
        refuses_repeats=rng.random() < 0.5,
        is_synchronous=rng.random() < 0.3,
        is_signed=rng.random() < 0.4,
        is_listed=rng.random() < 0.5,
        names_amount=rng.random() < 0.6,
        fee=rng.choice((0, 30)),
    )


def _fault(rng: random.Random) -> Fault:
    kind = rng.choice(tuple(Kind))
    seconds = rng.uniform(6 * HOUR, 3 * DAY) if kind in _LONG else _spread(rng, 5.0, 30 * HOUR)
    return Fault(kind, rng.choice((0, 0, 0, 1, 2)), _spread(rng, 0.1, 40 * HOUR), seconds)


def _spread(rng: random.Random, least: float, most: float) -> float:
    """As often between a second and ten as between an hour and ten."""
    return round(least * math.exp(math.log(most / least) * rng.random()), 1)


def _is_possible(nature: Nature, fault: Fault) -> bool:
    """Nobody forges a signature, or speaks from an address that is listed; a key is forgotten where that is said."""
    match fault.kind:
        case Kind.FORGED_SUCCESS | Kind.FORGED_FAILURE:
            return not nature.is_signed and not nature.is_listed
        case Kind.CALLBACK_WITHOUT_AMOUNT | Kind.CALLBACK_OTHER_AMOUNT:
            return nature.names_amount
        case Kind.FORGETS:
            return nature.resubmit is not Resubmit.DUPLICATES_REFUSED
        case _:
            return True
