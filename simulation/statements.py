"""After a run: the networks' statements are imported and matched, as operators do the next morning.

Then nothing of what the oracle must forgive before is forgiven any more. Each shilling that moved at a network, and was
told to nobody, is in the ledger, or an exception names its line. Nothing is named that is not so.
"""

import asyncio
from datetime import date, datetime
from pathlib import Path

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Database
from malipo.ledger import check as ledger_check
from malipo.networks.connector import Channel
from malipo.payments.check import transactions as transactions_check
from malipo.payments.dispatch import Rules
from malipo.payments.settle import Settle
from malipo.reconciliation.choose_profile import choose_profile
from malipo.reconciliation.import_statement import import_statement
from malipo.reconciliation.match_statements import match_statements
from malipo_simulator.statements.account import ZONE, statement_of
from malipo_simulator.statements.layouts import as_csv
from malipo_simulator.transaction import GatewayName
from simulation.book import Book
from simulation.oracle import Finding
from simulation.world import World

_OPERATOR = Actor("operator finance", "statements")
# ClickPesa carries payouts to HaloPesa: an account of its own of that channel.
_CHANNELS = {GatewayName.CLICKPESA: (Channel.HALOPESA, "clickpesa")}


def reconcile(world: World, book: Book, folder: Path) -> list[Finding]:
    """On a loop of its own, in real time: the run is over."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_Reconciliation(world, book, folder).go())


class _Reconciliation:
    def __init__(self, world: World, book: Book, folder: Path) -> None:
        self._world = world
        self._book = book
        self._folder = folder
        self._findings: list[Finding] = []

    async def go(self) -> list[Finding]:
        async with Database.opened(self._world.url, size=2) as database:
            for day in sorted({datetime.fromtimestamp(each.at, ZONE).date() for each in self._book.movements}):
                for gateway in GatewayName:
                    await self._import(database, gateway, day)
            settle = Settle(clock=clock.now, rules=Rules.of(self._world.settings))
            await match_statements(database, settle, clock=clock.now)
            async with database.snapshot() as connection:
                await self._check_payments(connection)
                await self._check_exceptions(connection)
                await ledger_check.prepare(connection)
                found = await ledger_check.check(connection) + await transactions_check.check(connection)
        return self._findings + [Finding("ledger", f"after the statements: {each}") for each in found]

    async def _import(self, database: Database, gateway: GatewayName, day: date) -> None:
        statement = statement_of(self._world.simulator.network.memory, gateway, day, merchant="Demo Shop")
        if not statement.entries:
            return
        channel, account = _CHANNELS.get(gateway) or (Channel(gateway), "")
        path = self._folder / f"{gateway}-{day}.csv"
        path.write_text(as_csv(statement))
        async with database.begin() as tx:
            await import_statement(
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

    async def _check_payments(self, connection: Conn) -> None:
        """What moved at a network is in the float, unless an exception says otherwise."""
        rows = await connection.fetch(
            """
            SELECT id, type, status, network_key, (
                SELECT coalesce(sum(CASE WHEN source = 'float' THEN amount ELSE -amount END), 0)::bigint FROM moves m
                WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)
            ) AS floated, EXISTS (
                SELECT FROM reconciliation_exceptions e
                WHERE e.transaction_id = t.id AND e.kind <> 'state_differs' AND e.state <> 'resolved'
            ) AS is_named FROM transactions t ORDER BY id
            """
        )
        for row in rows:
            has_moved = any(each.reference.endswith(row["network_key"]) for each in self._book.movements)
            moved = self._book.moved(row["network_key"])
            expected = moved if row["type"] == "COLLECTION" else -moved
            if has_moved and row["floated"] != expected and not row["is_named"]:
                what = f"{row['id']} ({row['type']} {row['status']}) moved {moved}; the ledger says {row['floated']}"
                self._findings.append(Finding("statement", f"after the statements {what}", row["id"]))

    async def _check_exceptions(self, connection: Conn) -> None:
        """No line is left without a place and a name, and no line of a payment that we have is called a stranger's."""
        nameless = await connection.fetchval(
            """
            SELECT count(*) FROM open_statement_lines o
            WHERE NOT EXISTS (SELECT FROM reconciliation_exceptions e WHERE e.line_id = o.line_id)
            """
        )
        if nameless:
            self._findings.append(Finding("statement", f"{nameless} lines are neither matched nor an exception"))
        strangers = await connection.fetch(
            """
            SELECT l.key, t.id FROM reconciliation_exceptions e JOIN statement_lines l ON l.id = e.line_id
            JOIN transactions t ON l.key LIKE '%' || t.network_key
            WHERE e.kind = 'theirs_only' AND e.state <> 'resolved'
            """
        )
        for row in strangers:
            self._findings.append(Finding("statement", f"the line of {row['id']} is called theirs only", row["id"]))
