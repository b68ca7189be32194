"""After a run: the networks' statements are imported and matched, as operators do the next morning.

Then nothing of what the oracle must forgive before is forgiven any more. Each shilling that moved at a network is in
the ledger once, of the merchant who wished for it, or an exception names its line. Nothing is named that is not so. And
the same days, exported otherwise or imported again, change nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Collection
from datetime import datetime

from malipo.db import Conn, Database
from malipo.ledger import check as ledger_check
from malipo.networks.connector import Channel, Type
from malipo.payments.check import transactions as transactions_check
from malipo_simulator.statements.account import ZONE, entries_of, receipt_in_account
from malipo_simulator.transaction import GatewayName
from simulation.book import Book, net
from simulation.oracle import Finding
from simulation.reconciling.statement_files import AGAIN, StatementFiles
from simulation.reconciling.wishes import Wishes
from simulation.template import Merchant
from simulation.world import World


def reconcile(
    world: World,
    book: Book,
    files: StatementFiles,
    wishes: Wishes,
    accounts: list[Merchant],
    mistaken: Collection[str],
) -> list[Finding]:
    """On a loop of its own, in real time: the run is over."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_Reconciliation(world, book, files, wishes, accounts, mistaken).go())


class _Reconciliation:
    def __init__(
        self,
        world: World,
        book: Book,
        files: StatementFiles,
        wishes: Wishes,
        accounts: list[Merchant],
        mistaken: Collection[str],
    ) -> None:
        self._world = world
        self._book = book
        self._files = files
        self._wishes = wishes
        self._accounts = accounts
        self._mistaken = mistaken  # payments that operators have called what they were not
        self._findings: list[Finding] = []

    async def go(self) -> list[Finding]:
        days = sorted({datetime.fromtimestamp(each.at, ZONE).date() for each in self._book.movements})
        async with Database.opened(self._world.url, size=2) as database:
            await self._files.import_all(database, days)
            await self._files.match(database)
            before = await self._figures(database)
            for layout in AGAIN:
                await self._files.import_all(database, days, layout=layout)
                await self._files.match(database)
                if (after := await self._figures(database)) != before:
                    self._find(f"the same days imported again ({layout}) changed {before} to {after}")
                    break
            async with database.snapshot() as connection:
                await self._check_payments(connection)
                await self._check_phones(connection)
                await self._check_fees(connection)
                await self._check_exceptions(connection)
                await ledger_check.prepare(connection)
                found = await ledger_check.check(connection) + await transactions_check.check(connection)
        return self._findings + [Finding("ledger", f"after the statements: {each}") for each in found]

    def _find(self, what: str, transaction_id: str | None = None) -> None:
        self._findings.append(Finding("statement", what, transaction_id))

    async def _figures(self, database: Database) -> tuple[object, ...]:
        """What a statement that says nothing new must leave as it is."""
        async with database.snapshot() as connection:
            row = await connection.fetchrow(
                """
                SELECT (SELECT count(*) FROM statement_lines), (SELECT count(*) FROM moves),
                       (SELECT count(*) FROM house_bookings), (SELECT coalesce(sum(amount), 0) FROM house_bookings),
                       (SELECT count(*) FROM reconciliation_exceptions WHERE state <> 'resolved')
                """
            )
        assert row is not None
        return tuple(row.values())

    async def _check_payments(self, connection: Conn) -> None:
        """What moved under a payment's key is in the float, unless an exception says otherwise.

        Two lost refunds of a collection may have changed their keys, if the lines have none and operators adopted the
        later one first. What has its line from operators is compared by phone, and so is what moved under the key of a
        lost refund, if operators adopted it as a payout of its own.
        """
        adopted = await self._adopted_receipts(connection)
        rows = await connection.fetch(
            """
            SELECT id, type, status, network_key, (
                SELECT coalesce(sum(CASE WHEN source = 'float' THEN amount ELSE -amount END), 0)::bigint FROM moves m
                WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)
            ) AS floated, EXISTS (
                SELECT FROM reconciliation_exceptions e
                WHERE e.transaction_id = t.id AND e.kind <> 'state_differs' AND e.state <> 'resolved'
            ) AS is_named FROM transactions t
            WHERE NOT EXISTS (SELECT FROM adopted_payments a WHERE a.transaction_id = t.id)
              AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.merchant_id = t.merchant_id
                              AND s.transaction_id = t.id AND s.role = 'payment' AND s.how = 'operator')
              AND NOT EXISTS (
                SELECT FROM adopted_payments a JOIN statement_lines l ON l.id = a.line_id
                WHERE a.undone_at IS NULL AND (a.merchant_id, a.channel, a.phone, a.amount)
                    = (t.merchant_id, t.channel, t.phone, t.amount))
            ORDER BY id
            """
        )
        for row in rows:
            movements = self._book.under_key(row["network_key"], without=adopted)
            moved = net(movements)
            expected = moved if row["type"] == "COLLECTION" else -moved
            if movements and row["floated"] != expected and not row["is_named"]:
                what = f"{row['id']} ({row['type']} {row['status']}) moved {moved}; the ledger says {row['floated']}"
                self._find(f"after the statements {what}", row["id"])

    async def _adopted_receipts(self, connection: Conn) -> set[str]:
        rows = await connection.fetch(
            """
            SELECT l.receipt FROM adopted_payments a JOIN statement_lines l ON l.id = a.line_id
            WHERE a.undone_at IS NULL
            """
        )
        return {row["receipt"] for row in rows}

    async def _check_phones(self, connection: Conn) -> None:
        """By phone: what moved is in the ledger once, and of the merchant who wished for it."""
        booked: Counter[tuple[str, str]] = Counter()
        for row in await connection.fetch(
            """
            SELECT t.phone, t.merchant_id, sum(CASE WHEN m.source = 'float' THEN m.amount ELSE -m.amount END)::bigint
            FROM transactions t JOIN moves m ON m.merchant_id = t.merchant_id AND m.cause_id = t.id
            WHERE 'float' IN (m.source, m.target) GROUP BY 1, 2
            """
        ):
            booked[row[0], row[1]] = row[2]
        moved: Counter[tuple[str, str]] = Counter()
        for each in self._book.movements:
            merchant = self._accounts[self._wishes.merchant_of(each.phone)].id
            moved[each.phone, merchant] += each.amount if each.kind == "charged" else -each.amount
        named = await self._phones_of_exceptions(connection)
        named |= await self._phones_of_unseen_mistakes(connection)
        for phone, merchant in sorted(booked.keys() | moved.keys()):
            if phone not in named and booked[phone, merchant] != moved[phone, merchant]:
                what = (
                    f"{phone} moved {moved[phone, merchant]}; the ledger of {merchant} says {booked[phone, merchant]}"
                )
                self._find(f"after the statements {what}")

    async def _phones_of_unseen_mistakes(self, connection: Conn) -> set[str]:
        """Where operators were wrong, and no statement can show it yet: in an account in which nothing moved, and
        while a line of that amount has no place. It may be the payment's: no exception calls the payment absent before
        operators have said whose line it is."""
        rows = await connection.fetch(
            """
            SELECT phone, channel, type, EXISTS (
                SELECT FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
                WHERE o.channel = t.channel AND abs(l.amount) = t.amount
            ) AS is_waiting
            FROM transactions t WHERE id = ANY($1)
            """,
            sorted(self._mistaken),
        )
        memory = self._world.simulator.network.memory
        moved = {gateway for gateway in GatewayName if any(True for _ in entries_of(memory, gateway))}
        return {
            row["phone"] for row in rows if row["is_waiting"] or _account_of(row["channel"], row["type"]) not in moved
        }

    async def _phones_of_exceptions(self, connection: Conn) -> set[str]:
        rows = await connection.fetch(
            """
            SELECT coalesce(l.receipt, ''), coalesce(l.linked, ''), coalesce(t.phone, '')
            FROM reconciliation_exceptions e
            LEFT JOIN statement_lines l ON l.id = e.line_id
            LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            WHERE e.state <> 'resolved' AND e.kind NOT IN ('state_differs', 'fee_differs')
            """
        )
        receipts = {value for row in rows for value in row[:2]}
        phones = {each.phone for each in self._book.transactions if receipt_in_account(each) in receipts}
        return phones | {row[2] for row in rows}

    async def _check_fees(self, connection: Conn) -> None:
        """Every charge of a network is booked once, and nothing else is booked as one."""
        memory = self._world.simulator.network.memory
        charged = -sum(
            entry.amount for gateway in GatewayName for entry in entries_of(memory, gateway) if entry.kind == "fee"
        )
        booked = await connection.fetchval(
            """
            SELECT coalesce(sum(CASE WHEN source = 'network_fees' THEN amount WHEN target = 'network_fees' THEN -amount
                                ELSE 0 END), 0)::bigint FROM house_bookings
            """
        )
        if booked != charged:
            self._find(f"the networks charged {charged}; {booked} is booked as their charges")

    async def _check_exceptions(self, connection: Conn) -> None:
        """No line is left without a place and a name, and no line of a payment that we have is called a stranger's."""
        nameless = await connection.fetchval(
            """
            SELECT count(*) FROM open_statement_lines o
            WHERE NOT EXISTS (SELECT FROM reconciliation_exceptions e WHERE e.line_id = o.line_id)
            """
        )
        if nameless:
            self._find(f"{nameless} lines are neither matched nor an exception")
        strangers = await connection.fetch(
            """
            SELECT l.key, t.id FROM reconciliation_exceptions e JOIN statement_lines l ON l.id = e.line_id
            JOIN transactions t ON l.key LIKE '%' || t.network_key
            WHERE e.kind = 'theirs_only' AND e.state <> 'resolved' AND NOT EXISTS (
                SELECT FROM exception_resolutions r WHERE r.exception_id = e.id AND r.undone_by IS NOT NULL)
            """
        )
        for row in strangers:
            self._find(f"the line of {row['id']} is called theirs only", row["id"])


def _account_of(channel: str, type_: str) -> GatewayName:
    """Whose account a payment moves. HaloPesa pays out through ClickPesa here."""
    is_clickpesa = (channel, type_) == (Channel.HALOPESA, Type.DISBURSEMENT)
    return GatewayName.CLICKPESA if is_clickpesa else GatewayName(channel)
