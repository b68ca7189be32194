"""The networks' statements of a run, as files; and the one place where the simulation imports and matches them.

A seed decides whether M-Pesa's payouts have our key on the statement: some portals do not show it.
"""

import csv
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from msgspec.structs import replace

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.payments.dispatch import Rules
from malipo.payments.settle import Settle
from malipo.reconciliation import import_approval
from malipo.reconciliation.choose_profile import choose_profile
from malipo.reconciliation.import_statement import Imported, import_statement
from malipo.reconciliation.match_statements import match_statements
from malipo.reconciliation.report_evidence import approve_import
from malipo.table_files import rows
from malipo.table_files.limits import Limits
from malipo_simulator.statements.account import ZONE, Entry, Statement, statement_of
from malipo_simulator.statements.layouts import as_csv, plain_words
from malipo_simulator.transaction import GatewayName
from simulation.plan import Plan
from simulation.world import World

_APPROVAL_AMOUNT = 2000  # so small that lists wait for the second operator
_OPERATOR, _SECOND = Actor("operator finance", "statements"), Actor("operator juma", "statements")
# ClickPesa carries payouts to HaloPesa: an account of its own of that channel.
_CLICKPESA = "clickpesa"
_REMARKS = ("", "", "School fees", "Fees of January", "Charges of the clinic", "Rent", "Bank of my uncle")


@dataclass(frozen=True)
class Layout:
    """How an operator has exported a statement."""

    is_generic: bool = False  # the table that operators make themselves, and not the portal's
    has_seconds: bool = True
    clickpesa: str = _CLICKPESA  # what they call that account


PORTAL, GENERIC, RENAMED = Layout(), Layout(is_generic=True, has_seconds=False), Layout(clickpesa="ClickPesa")
# How the same days are exported and imported once more, when all is matched.
AGAIN = (PORTAL, GENERIC, RENAMED)


def read_here(
    path: Path, limits: Limits, *, is_workbook: bool = False, encoding: str | None = None, delimiter: str = ","
) -> Iterator[list[rows.Cell]]:
    """In this process: another one for each file would cost as much as the rest of a seed, and its limits are tested
    elsewhere."""
    assert not is_workbook
    with path.open(newline="", encoding=encoding or "utf-8-sig") as file:
        yield from csv.reader(file, delimiter=delimiter)


class StatementFiles:
    def __init__(self, world: World, plan: Plan, folder: Path) -> None:
        self._world = world
        self._folder = folder
        self._seed = plan.seed
        self._has_payout_keys = random.Random(f"statements {plan.seed}").random() < 0.5
        self._written = 0

    async def import_all(
        self, database: Database, days: list[date], *, until: float | None = None, layout: Layout = PORTAL
    ) -> list[Imported]:
        """One file for each account and day that has lines. `until`: of a day that is not over."""
        return [
            imported
            for day in days
            for gateway in GatewayName
            if (imported := await self._import(database, gateway, day, until, layout)) is not None
        ]

    async def match(self, database: Database) -> None:
        settle = Settle(clock=clock.now, rules=Rules.of(self._world.settings))
        await match_statements(database, settle, approval_amount=_APPROVAL_AMOUNT, clock=clock.now)
        async with database.begin() as tx:
            for each in await import_approval.find_open(tx):
                await approve_import(tx, settle, each.proposal.subject, actor=_SECOND, now=clock.now())

    async def _import(
        self, database: Database, gateway: GatewayName, day: date, until: float | None, layout: Layout
    ) -> Imported | None:
        memory = self._world.simulator.network.memory
        statement = statement_of(memory, gateway, day, merchant="Demo Shop", until=until)
        if not statement.entries:
            return None
        is_clickpesa = gateway is GatewayName.CLICKPESA
        channel, account = (Channel.HALOPESA, layout.clickpesa) if is_clickpesa else (Channel(gateway), "")
        self._written += 1
        path = self._folder / f"{gateway}-{day}-{self._written}.csv"
        path.write_text(self._text_of(statement, layout))
        async with database.begin() as tx:
            return await import_statement(
                tx,
                path,
                channel=channel,
                account=account,
                profile=await choose_profile(tx, path, channel),
                accepts_problems=False,
                is_new_account=True,
                actor=_OPERATOR,
                now=clock.now(),
            )

    def _text_of(self, statement: Statement, layout: Layout) -> str:
        entries = [self._as_shown(statement.gateway, each) for each in statement.entries]
        shown = replace(statement, entries=entries)
        # A table of one's own is not one of an aggregator, which serves several channels.
        if layout.is_generic and statement.gateway is not GatewayName.CLICKPESA:
            return _generic(shown, has_seconds=layout.has_seconds)
        return as_csv(shown)

    def _as_shown(self, gateway: GatewayName, entry: Entry) -> Entry:
        """A customer or a merchant has written a remark on some; the same one in every file."""
        if entry.kind not in ("collection", "disbursement"):
            return entry
        remark = random.Random(f"remark {self._seed} {entry.receipt}").choice(_REMARKS)
        is_without = gateway is GatewayName.MPESA and entry.kind == "disbursement" and not self._has_payout_keys
        return replace(entry, remark=remark, reference="" if is_without else entry.reference)


def _generic(statement: Statement, *, has_seconds: bool) -> str:
    """The generic layout, newest first, without a heading: what a spreadsheet is left with."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["time", "receipt", "details", "amount", "balance", "reference", "phone", "linked receipt"])
    for entry in reversed(statement.entries):
        at = datetime.fromtimestamp(entry.at, ZONE)
        time = f"{at:%d/%m/%Y %H:%M:%S}" if has_seconds else f"{at:%d/%m/%Y %H:%M}"
        who = [entry.reference, entry.phone, entry.linked]
        writer.writerow([time, entry.receipt, plain_words(entry), entry.amount, entry.balance, *who])
    return text.getvalue()
