"""The links of a database with their attempts and events, for the oracle."""

from dataclasses import dataclass
from typing import Any

import msgspec

from simulation.database import SimulatedDatabase
from simulation.postgres_gate import EPOCH

_LINKS = """
    SELECT merchant_id, id, code, date_part('epoch', expires_at), date_part('epoch', cancelled_at), paid_at IS NOT NULL
    FROM links ORDER BY id
"""
# `floated` is what the ledger says of the money; what the attempt itself says, is what is to be checked.
_ATTEMPTS = """
    SELECT a.link_id, a.transaction_id, a.phone, a.late, t.status, t.failure_code, t.amount, (
               SELECT coalesce(sum(CASE WHEN source = 'float' THEN amount ELSE -amount END), 0) FROM moves m
               WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)),
           date_part('epoch', t.created_at), date_part('epoch', t.ended_at), date_part('epoch', c.since),
           c.transaction_id IS NOT NULL, EXISTS (
               SELECT FROM adopted_payments p WHERE p.merchant_id = t.merchant_id AND p.transaction_id = t.id), (
               SELECT date_part('epoch', min(created_at)) FROM moves m
               WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND source = 'float')
    FROM link_attempts a JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
    LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
    ORDER BY a.transaction_id
"""
_EVENTS = "SELECT merchant_id, id, link_id, transaction_id, event, body FROM link_events ORDER BY feed_number, id"


@dataclass(frozen=True)
class LinkRow:
    merchant_id: str
    id: str
    code: str
    expires_at: float | None  # seconds since the run began, as all times
    cancelled_at: float | None
    has_been_paid: bool  # as often as it may be


@dataclass(frozen=True)
class AttemptRow:
    link_id: str
    id: str  # of its payment
    phone: str
    late: str | None
    status: str
    failure_code: str | None
    amount: int
    floated: int
    created_at: float
    ended_at: float | None
    reported_at: float | None  # after its end, the last time
    is_corrected: bool
    is_adopted: bool = False
    first_known_at: float | None = None  # when the ledger had its money first, also if nobody had decided whose it is

    @property
    def is_paid(self) -> bool:
        return self.floated > 0

    @property
    def was_ever_paid(self) -> bool:
        return self.status == "COMPLETED" or self.is_corrected

    @property
    def paid_at(self) -> float | None:
        return self.ended_at if self.status == "COMPLETED" else self.reported_at


@dataclass(frozen=True)
class LinkEventRow:
    merchant_id: str
    id: str
    link_id: str
    payment_id: str
    event: str
    body: dict[str, Any]


def find_links(database: SimulatedDatabase) -> list[LinkRow]:
    return [
        LinkRow(str(merchant), str(id_), str(code), _seconds(expires), _seconds(cancelled), has_been_paid == "t")
        for merchant, id_, code, expires, cancelled, has_been_paid in database.look().ask(_LINKS)
    ]


def find_attempts(database: SimulatedDatabase) -> list[AttemptRow]:
    return [
        AttemptRow(
            link_id=str(row[0]),
            id=str(row[1]),
            phone=str(row[2]),
            late=row[3],
            status=str(row[4]),
            failure_code=row[5],
            amount=int(row[6] or 0),
            floated=int(row[7] or 0),
            created_at=float(row[8] or 0) - EPOCH.timestamp(),
            ended_at=_seconds(row[9]),
            reported_at=_seconds(row[10]),
            is_corrected=row[11] == "t",
            is_adopted=row[12] == "t",
            first_known_at=_seconds(row[13]),
        )
        for row in database.look().ask(_ATTEMPTS)
    ]


def find_events(database: SimulatedDatabase) -> list[LinkEventRow]:
    return [
        LinkEventRow(str(merchant), str(id_), str(link), str(payment), str(event), msgspec.json.decode(str(body)))
        for merchant, id_, link, payment, event, body in database.look().ask(_EVENTS)
    ]


def _seconds(epoch: str | None) -> float | None:
    return None if epoch is None else float(epoch) - EPOCH.timestamp()
