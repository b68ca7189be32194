"""What must be true of refunds: none is lost, and no customer gets more back than was collected.

A network may call a refund FAILED and pay it all the same. The merchant may have made another one by then, and both are
paid: no service can keep that from happening. But once the service has recorded that the first was paid, the second
must not reach the network any more.

If a restore loses the first, its merchant has still seen that it FAILED. That excuses only what had left for the
network before the network paid the first.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from malipo_simulator.state import State
from simulation.database import PaymentRow, SimulatedDatabase
from simulation.plan import Plan, PlannedPayment
from simulation.postgres_gate import EPOCH
from simulation.refunds.merchant_refunds import Refunds

Found = Callable[[str, str, str | None], None]

# Between the claim of a refund and the arrival of its request, if nothing goes wrong.
_ON_ITS_WAY_SECONDS = 1.0
# What makes a request arrive later, or the time of a record be another than that of the networks.
_LATE = ("network-request-late", "network-request-twice", "pause", "clock")


@dataclass(frozen=True)
class PaidRefund:
    """Money that the network has paid to the customer under one key, and what the service says of it."""

    amount: int
    reached_at: float  # when the network first had the request
    is_failed: bool = False  # its merchant was told that it FAILED
    known_at: float | None = None  # when the service recorded that it was paid
    # Its merchant was told that it FAILED, and a restore has lost it since: when the network paid it.
    lost_and_paid_at: float | None = None


def find_reports(database: SimulatedDatabase) -> dict[str, float]:
    """When the service has last recorded that a payment which had ended has another outcome."""
    rows = database.look().ask(
        "SELECT cause_id, date_part('epoch', max(created_at)) FROM moves WHERE step = 'contradiction' GROUP BY 1"
    )
    return {str(id_): float(at or 0) - EPOCH.timestamp() for id_, at in rows}


def given_to(
    phone: str, rows: Sequence[PaymentRow], networks: State, reports: dict[str, float], seen_failed: dict[str, str]
) -> list[PaidRefund]:
    """What the networks have paid to a customer, and not taken back."""
    refunds = [row for row in rows if row.phone == phone and row.is_refund]
    there = {row.id for row in rows}
    # A reference ends with the network key, after the prefix of the installation.
    lost = tuple(reference.rpartition("-")[2] for id_, reference in seen_failed.items() if id_ not in there)
    found = []
    for each in networks.by_id.values():
        movements = [
            movement
            for movement in networks.book
            if movement.transaction_id == each.id and (movement.kind == "paid") != movement.is_reversal
        ]
        moved = sum(-movement.amount if movement.is_reversal else movement.amount for movement in movements)
        if each.phone != phone or moved <= 0:
            continue
        row = next((row for row in refunds if each.reference.endswith(row.key)), None)
        is_failed = row is not None and row.status == "FAILED"
        found.append(
            PaidRefund(
                moved,
                each.taken_at - EPOCH.timestamp(),
                is_failed=is_failed,
                known_at=None if row is None else reports.get(row.id) if is_failed else row.ended_at,
                lost_and_paid_at=movements[0].at - EPOCH.timestamp() if each.reference.endswith(lost) else None,
            )
        )
    return found


def lateness(plan: Plan) -> float:
    """How long after the service has recorded something a request may arrive that was sent before."""
    return _ON_ITS_WAY_SECONDS + sum(abs(each.seconds) for each in plan.faults if each.kind in _LATE)


def check(
    payment: PlannedPayment,
    told: Refunds,
    given: Sequence[PaidRefund],
    *,
    ids: Collection[str],
    mistaken: Collection[str],
    lateness: float,
    may_arrive_twice: bool,
    is_in_lost_time: Callable[[float], bool],
    find: Found,
) -> None:
    for id_, at in zip(told.ids, told.acknowledged_at, strict=True):
        if id_ not in ids and not is_in_lost_time(at):
            find("lost", f"a refund of {payment.key} was acknowledged as {id_}, which is not there", id_)
    for status in told.troubles:
        find("broke", f"a refund of {payment.key} was answered with {status}", None)
    # A request without an answer may have been done, and refused when it was repeated: a restore may have lost it.
    # One that arrives twice may be refused first, and done when it arrives again: its collection has ended between.
    may_be_done = told.asked.keys() if may_arrive_twice else told.made | told.unanswered
    wishes = [word for word in told.asked if word in may_be_done or word not in told.refused]
    paid = sum(not each.is_failed for each in given)
    if payment.refund and paid > len(wishes) + sum(id_ in mistaken for id_ in told.ids):
        what = f"{len(wishes)} refunds of {payment.key} were asked for, and {paid} are paid"
        find("paid-twice", what, told.ids[0] if told.ids else None)
    for part in sorted({body["amount"] for body in told.asked.values() if body}):
        times = sum(each.amount == part and not each.is_failed for each in given)
        if times > _most_of(part, payment, told) + sum(id_ in mistaken for id_ in told.ids):
            find(
                "paid-twice", f"{part} of {payment.key} is given back {times} times", told.ids[0] if told.ids else None
            )
    # A refund that operators wrongly called failed may be made once more: nothing can keep people from that.
    most = payment.amount * (1 + sum(id_ in mistaken for id_ in told.ids))
    given_back = sum(each.amount for each in given)
    if not payment.refund or given_back <= most:
        return
    knew = any(_is_known_to_be_too_much(each, given, most, lateness) for each in given)
    excused = sum(each.amount for each in given if each.is_failed or _is_lost_and_paid_later(each, given, lateness))
    if knew or given_back - most > excused:
        what = f"{payment.phone} paid {payment.amount} and got {given_back} back"
        find("refunded", f"{what}{', and the service knew' if knew else ''}", told.ids[0] if told.ids else None)


def _most_of(part: int, payment: PlannedPayment, told: Refunds) -> int:
    """How many refunds of a part were asked for. What is left may be as much: then every refund of the rest counts."""
    is_half = payment.amount == 2 * part
    return sum(body["amount"] == part if body else is_half for body in told.asked.values())


def _is_known_to_be_too_much(one: PaidRefund, given: Sequence[PaidRefund], most: int, lateness: float) -> bool:
    """Whether it reached the network when the service had recorded that the others were paid."""
    known = sum(
        each.amount
        for each in given
        if each is not one and each.known_at is not None and each.known_at + lateness < one.reached_at
    )
    return known > 0 and one.amount + known > most


def _is_lost_and_paid_later(one: PaidRefund, given: Sequence[PaidRefund], lateness: float) -> bool:
    """Whether a restore has lost that it FAILED, and its network paid it when all others had left for the network."""
    paid_at = one.lost_and_paid_at
    return paid_at is not None and all(each.reached_at - lateness <= paid_at for each in given if each is not one)
