"""A merchant's approval rules: the rules that hold, and weaker ones that wait."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from malipo.accounts.four_eyes import COOLING_TIME
from malipo.db import Conn, Row, Tx

_SELECT = """
    SELECT m.takes_two_to_approve, m.approval_above, c.takes_two, c.above, c.requested_by, c.requested_at
    FROM merchants m LEFT JOIN approval_rule_changes c ON c.merchant_id = m.id WHERE m.id = $1
"""


class ApprovalRules(msgspec.Struct, frozen=True):
    takes_two: bool  # the creator of a batch may not approve it
    above: (
        int | None
    )  # what a person pays out by hand in a day beyond this awaits approval; None: there is no such amount

    def stricter(self, other: "ApprovalRules") -> "ApprovalRules":
        """The stricter value of each part."""
        amounts = [each for each in (self.above, other.above) if each is not None]
        return ApprovalRules(self.takes_two or other.takes_two, min(amounts, default=None))


class WaitingRules(NamedTuple):
    """Weaker rules that an owner has asked for."""

    rules: ApprovalRules
    requested_by: str
    requested_at: datetime

    @property
    def holds_at(self) -> datetime:
        return self.requested_at + COOLING_TIME


class CurrentRules(NamedTuple):
    rules: ApprovalRules  # that hold now
    waiting: WaitingRules | None


async def get(connection: Conn, merchant_id: str, *, now: datetime) -> ApprovalRules:
    return (await find(connection, merchant_id, now=now)).rules


async def find(connection: Conn, merchant_id: str, *, now: datetime) -> CurrentRules:
    return current_rules(await connection.fetchrow(_SELECT, merchant_id), now)


async def lock(tx: Tx, merchant_id: str, *, now: datetime) -> CurrentRules:
    """Lock the rules, then read them: another commit may have written them while this one waited."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR NO KEY UPDATE", merchant_id)
    return await find(tx, merchant_id, now=now)


async def save(tx: Tx, merchant_id: str, rules: ApprovalRules) -> None:
    """Store the rules that hold now, and delete the waiting ones."""
    await tx.execute(
        "UPDATE merchants SET takes_two_to_approve = $2, approval_above = $3 WHERE id = $1",
        merchant_id,
        rules.takes_two,
        rules.above,
    )
    await tx.execute("DELETE FROM approval_rule_changes WHERE merchant_id = $1", merchant_id)


async def insert_waiting(tx: Tx, merchant_id: str, rules: ApprovalRules, *, requested_by: str, now: datetime) -> None:
    """Store waiting rules, after `save` has deleted earlier ones."""
    await tx.execute(
        """
        INSERT INTO approval_rule_changes (merchant_id, takes_two, above, requested_by, requested_at)
        VALUES ($1, $2, $3, $4, $5)
        """,
        merchant_id,
        rules.takes_two,
        rules.above,
        requested_by,
        now,
    )


def current_rules(row: Row | None, now: datetime) -> CurrentRules:
    """The rules that hold now. Waiting rules whose time has come hold without being stored: no process must run for
    that."""
    assert row is not None, "the merchant was found before"
    rules = ApprovalRules(row["takes_two_to_approve"], row["approval_above"])
    if row["requested_at"] is None:
        return CurrentRules(rules, None)
    waiting = WaitingRules(ApprovalRules(row["takes_two"], row["above"]), row["requested_by"], row["requested_at"])
    return CurrentRules(waiting.rules, None) if waiting.holds_at <= now else CurrentRules(rules, waiting)
