"""After a run: the networks' statements are imported and matched, as operators do the next morning.

Then nothing of what the oracle must forgive before is forgiven any more. Each shilling that moved at a network is in
the ledger once, of the merchant who wished for it, or an exception names its line; an exception excuses what its own
line moved, and nothing else. Every charge is booked once, to the cent. And the same days, exported otherwise, imported
again, withdrawn and imported again, or given to another account, change nothing.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from malipo.db import Conn, Database
from malipo.ledger import check as ledger_check
from malipo.payments.check import transactions as transactions_check
from malipo_simulator.state import Movement
from malipo_simulator.statements.account import ZONE, entries_of, receipt_in_account
from malipo_simulator.transaction import GatewayName, Transaction
from simulation.networks_book import Book
from simulation.operators import Operators
from simulation.oracle import OracleFinding
from simulation.reconciling.finance import Finance
from simulation.reconciling.merchants_records import Wishes
from simulation.reconciling.statement_files import AGAIN, gateway_of
from simulation.template import SimulatedMerchant
from simulation.world import World

_AGAIN = 2  # So many of the ways to export the same days are tried in a run.
_WITHDRAWN = 0.4
_MOST_CENTS = 50  # that the float of an account may be from its statement

# A merchant's payments of a phone.
_Whose = tuple[str, str]


@dataclass(frozen=True)
class _OpenException:
    """What an open exception says: so much came in at the network, and is not in the ledger; below 0, it went out, or
    is in the ledger only."""

    amount: int
    receipt: str = ""


def reconcile(
    world: World, book: Book, finance: Finance, wishes: Wishes, accounts: list[SimulatedMerchant], operators: Operators
) -> list[OracleFinding]:
    """On a loop of its own, in real time: the run is over."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(_Reconciliation(world, book, finance, wishes, accounts, operators).go())


class _Reconciliation:
    def __init__(
        self,
        world: World,
        book: Book,
        finance: Finance,
        wishes: Wishes,
        accounts: list[SimulatedMerchant],
        operators: Operators,
    ) -> None:
        self._world = world
        self._book = book
        self._finance = finance
        self._wishes = wishes
        self._accounts = accounts
        self._mistaken = operators.mistaken  # payments that operators have called what they were not
        self._given_up = operators.adoptions.given_up()
        self._chance = random.Random(f"reconciliation {world.seed}")
        self._findings: list[OracleFinding] = []

    async def go(self) -> list[OracleFinding]:
        days = sorted({datetime.fromtimestamp(each.at, ZONE).date() for each in self._book.movements})
        async with Database.opened(self._world.url, size=2) as database:
            await self._import(database, days)
            await self._import_again(database, days)
            async with database.snapshot() as connection:
                named = await self._find_named(connection)
                await self._check_payments(connection, named)
                await self._check_phones(connection, named)
                await self._check_fees(connection)
                await self._check_exceptions(connection)
                await ledger_check.prepare(connection)
                found = await ledger_check.check(connection) + await transactions_check.check(connection)
        return self._findings + [OracleFinding("ledger", f"after the statements: {each}") for each in found]

    def _find(self, what: str, transaction_id: str | None = None) -> None:
        self._findings.append(OracleFinding("statement", what, transaction_id))

    async def _import(self, database: Database, days: list[date]) -> None:
        """In some runs a file is withdrawn by two operators, and all of it is imported once more."""
        await self._finance.withdraw_wrong(database)
        refused = await self._finance.import_all(database, days)
        await self._finance.match(database)
        if (given := await self._finance.find_given(database)) and self._chance.random() < _WITHDRAWN:
            withdrawn = self._chance.choice(given)
            if await self._finance.withdraw(database, withdrawn):
                await self._finance.match(database)
                await self._finance.import_again(database, withdrawn)
                refused = await self._finance.import_all(database, days)
                await self._finance.match(database)
        for each in refused:
            self._find(f"a statement is refused: {each}")
        for each in self._finance.taken_wrongly:
            self._find(each)

    async def _import_again(self, database: Database, days: list[date]) -> None:
        before = await self._figures(database)
        for layout in self._chance.sample(AGAIN, _AGAIN):
            for each in await self._finance.import_all(database, days, layout=layout):
                self._find(f"the same days imported again ({layout}) are refused: {each}")
            await self._finance.match(database)
            if (after := await self._figures(database)) != before:
                self._find(f"the same days imported again ({layout}) changed {before} to {after}")
                return
        for day in days:
            await self._finance.give_elsewhere(database, day)
        await self._finance.match(database)
        if (after := await self._figures(database)) != before:
            self._find(f"the same days given to other accounts changed {before} to {after}")

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

    async def _check_payments(self, connection: Conn, named: dict[_Whose, list[_OpenException]]) -> None:
        """Where lines have our key: what moved under a payment's key is in the float, or an exception names it."""
        rows = await connection.fetch(
            """
            SELECT id, merchant_id, phone, channel, type, status, network_key, (
                SELECT coalesce(sum(CASE WHEN source = 'float' THEN amount ELSE -amount END), 0)::bigint FROM moves m
                WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)
            ) AS floated FROM transactions t ORDER BY id
            """
        )
        for row in rows:
            movements = self._book.under_key(row["network_key"])
            if not movements or not self._finance.files.shows_key(row["channel"], row["type"]):
                continue
            moved = _came_in(movements)
            if moved - row["floated"] not in _sums(named[row["phone"], row["merchant_id"]]):
                what = f"{row['id']} ({row['type']} {row['status']}) moved {moved}; the ledger says {row['floated']}"
                self._find(f"after the statements {what}", row["id"])

    async def _check_phones(self, connection: Conn, named: dict[_Whose, list[_OpenException]]) -> None:
        """By phone: what moved is in the ledger once, and of the merchant who wished for it.

        What operators have tried to adopt or to match, and could not, is not excused by its exception: it has no place.
        """
        booked: Counter[_Whose] = Counter()
        for row in await connection.fetch(
            """
            SELECT t.phone, t.merchant_id, sum(CASE WHEN m.source = 'float' THEN m.amount ELSE -m.amount END)::bigint
            FROM transactions t JOIN moves m ON m.merchant_id = t.merchant_id AND m.cause_id = t.id
            WHERE 'float' IN (m.source, m.target) GROUP BY 1, 2
            """
        ):
            booked[row[0], row[1]] = row[2]
        moved: defaultdict[_Whose, list[Movement]] = defaultdict(list)
        for each in self._book.movements:
            moved[each.phone, self._merchant_of(each.phone)].append(each)
        for whose in sorted(booked.keys() | moved.keys()):
            came_in, names = _came_in(moved[whose]), named[whose]
            missing = came_in - booked[whose]
            what = f"{whose[0]} moved {came_in}; the ledger of {whose[1]} says {booked[whose]}"
            if missing not in _sums(names):
                self._find(f"after the statements {what}; named are {[each.amount for each in names]}")
            elif missing not in _sums(each for each in names if each.receipt not in self._given_up):
                why = {each.receipt: self._given_up.get(each.receipt) for each in names}
                self._find(f"after the statements {what}, and operators were refused a place for it: {why}")

    def _merchant_of(self, phone: str) -> str:
        return self._accounts[self._wishes.merchant_of(phone)].id

    async def _find_named(self, connection: Conn) -> dict[_Whose, list[_OpenException]]:
        """What open exceptions name of each merchant's phones."""
        rows = await connection.fetch(
            """
            SELECT e.kind, e.amount, l.receipt, l.linked, l.amount AS line_amount, t.phone, t.merchant_id, (
                SELECT coalesce(sum(CASE WHEN source = 'float' THEN m.amount ELSE -m.amount END), 0)::bigint
                FROM moves m
                WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)) AS floated
            FROM reconciliation_exceptions e
            LEFT JOIN statement_lines l ON l.id = e.line_id
            LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            WHERE e.state <> 'resolved' AND e.kind NOT IN ('state_differs', 'fee_differs') ORDER BY e.id
            """
        )
        named: dict[_Whose, list[_OpenException]] = defaultdict(list)
        for row in rows:
            if row["kind"] == "ours_only":
                named[row["phone"], row["merchant_id"]].append(_OpenException(-row["floated"]))
            elif (of := self._transaction_of(row["receipt"], row["linked"], row["line_amount"])) is not None:
                amount = row["amount"] if row["kind"] == "amount_differs" else row["line_amount"]
                named[of.phone, self._merchant_of(of.phone)].append(_OpenException(amount, row["receipt"]))
        for phone, merchant_id, floated in await self._unseen_mistakes(connection):
            named[phone, merchant_id].append(_OpenException(-floated))
        return named

    def _transaction_of(self, receipt: str, linked: str, amount: int) -> Transaction | None:
        """Whose movement a line is. A network's charge has the receipt of its payment, and another amount."""
        for each in self._book.transactions:
            if receipt_in_account(each) in (receipt, linked) and each.amount == abs(amount):
                return each
        return None

    async def _unseen_mistakes(self, connection: Conn) -> list[tuple[str, str, int]]:
        """What operators were wrong about, and no statement can show yet: in an account in which nothing moved, and
        while a line of that amount has no place. It may be the payment's: no exception calls the payment absent before
        operators have said whose line it is."""
        rows = await connection.fetch(
            """
            SELECT phone, merchant_id, channel, type, EXISTS (
                SELECT FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
                WHERE o.channel = t.channel AND abs(l.amount) = t.amount
            ) AS is_waiting, (
                SELECT coalesce(sum(CASE WHEN source = 'float' THEN m.amount ELSE -m.amount END), 0)::bigint
                FROM moves m
                WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)) AS floated
            FROM transactions t WHERE id = ANY($1)
            """,
            sorted(self._mistaken),
        )
        memory = self._world.simulator.network.memory
        moved = {gateway for gateway in GatewayName if any(True for _ in entries_of(memory, gateway))}
        return [
            (row["phone"], row["merchant_id"], row["floated"])
            for row in rows
            if row["is_waiting"] or gateway_of(row["channel"], row["type"]) not in moved
        ]

    async def _check_fees(self, connection: Conn) -> None:
        """Every charge of a network is booked once, to the cent, and nothing else is booked as one. The float is as
        near to the statements as whole shillings can be."""
        rows = await connection.fetch(
            """
            SELECT channel, count(DISTINCT account) AS accounts, coalesce(sum(change) FILTER (
                WHERE 'network_fees' IN (source, target)) * 100 + sum(cents) FILTER (
                WHERE 'network_fees' IN (source, target)), 0)::bigint AS booked, sum(change)::bigint AS floated
            FROM house_bookings CROSS JOIN LATERAL (
                SELECT CASE source WHEN 'float' THEN amount ELSE -amount END AS change) c
            WHERE 'float' IN (source, target) AND ('network_fees' IN (source, target) OR kind = 'rounding')
            GROUP BY 1
            """
        )
        booked = {row["channel"]: row for row in rows}
        charged = self._finance.files.charges()
        for channel in sorted(charged.keys() | booked.keys()):
            row, cents = booked.get(channel), charged[channel]
            if (said := 0 if row is None else -row["booked"]) != cents:
                self._find(f"{channel} charged {cents} cents; {said} are booked as its charges")
            elif row is not None and abs(row["floated"] * 100 + cents) > _MOST_CENTS * row["accounts"]:
                self._find(f"{channel} charged {cents} cents; the float has {-row['floated']} shillings of them")

        moved_otherwise = await connection.fetchval(
            """
            SELECT coalesce(sum(CASE source WHEN 'float' THEN amount ELSE -amount END), 0)::bigint FROM house_bookings
            WHERE 'float' IN (source, target) AND NOT 'network_fees' IN (source, target) AND kind <> 'rounding'
            """
        )
        if moved_otherwise:
            self._find(f"{moved_otherwise} are booked as a sweep or a transfer, and no network had any")

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
        absent = await connection.fetch(
            """
            SELECT t.id, t.channel, t.type, t.network_key FROM reconciliation_exceptions e
            JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            WHERE e.kind = 'ours_only' AND e.state <> 'resolved' AND t.status = 'COMPLETED'
            """
        )
        for row in absent:
            is_there = self._finance.files.shows_key(row["channel"], row["type"])
            if is_there and _came_in(self._book.under_key(row["network_key"])):
                self._find(f"{row['id']} is called ours only, and its line has its key", row["id"])


def _came_in(movements: Iterable[Movement]) -> int:
    """As the account sees it. A payout that is taken back is charged to the phone."""
    return sum(each.amount if each.kind == "charged" else -each.amount for each in movements)


def _sums(named: Iterable[_OpenException]) -> set[int]:
    """What may be missing in the ledger, if each of these is so or not: a line may be that of a payment that we have,
    if nothing on it says whose it is."""
    sums = {0}
    for each in named:
        sums |= {other + each.amount for other in sums}
    return sums
