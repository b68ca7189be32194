"""The story of a run, for people: what happened to a payment, in order, with the faults around it."""

from collections.abc import Sequence
from typing import Any

from simulation.database import SimulatedDatabase
from simulation.faults import Faults
from simulation.links.customers import Customers
from simulation.merchants import Merchants
from simulation.networks_book import Book
from simulation.operators import Operators
from simulation.postgres_gate import EPOCH
from simulation.world import World

_MOST_LINES = 200  # more only where the payments themselves have more


class Story:
    def __init__(
        self,
        world: World,
        database: SimulatedDatabase,
        book: Book,
        merchants: Merchants,
        customers: Customers,
        operators: Operators,
        faults: Faults,
        settlements: Sequence[tuple[float, str]] = (),
    ) -> None:
        """`settlements`: what merchants and treasurers did about them, also on the days after the run."""
        self._world = world
        self._database = database
        self._book = book
        self._merchants = merchants
        self._customers = customers
        self._operators = operators
        self._faults = faults
        self._settlements = settlements

    def tell(self, transaction_ids: list[str]) -> list[str]:
        """Of these payments; of all, if none is named."""
        about = self._phones_and_keys(transaction_ids)
        around: list[tuple[float, str]] = [(at, f"FAULT      {fault}") for at, fault in self._faults.happened]
        around += [(at, f"process    {what}") for at, what in self._world.lives]
        around += [(at, f"operator   {what}") for at, what in (*self._operators.acts, *self._operators.adoptions.acts)]
        around += [(at, f"merchant   {what}") for at, what in self._customers.merchants.acts]
        around += self._settlements
        lines = [(at, f"merchant   {what}") for at, phone, what in self._merchants.acts if not about or phone in about]
        lines += [(at, f"customer   {what}") for at, phone, what in self._customers.acts if not about or phone in about]
        lines += [
            (entry.at - EPOCH.timestamp(), f"network    {_wire(entry)}")
            for entry in reversed(list(self._world.simulator.seen.newest()))
            # Some connectors put a prefix of the contract before the key.
            if not about or entry.phone in about or entry.reference.endswith(tuple(about))
        ]
        for movement in self._book.movements:
            if not about or movement.phone in about:
                way = "REVERSED" if movement.is_reversal else movement.kind.upper()
                text = f"BOOK       {movement.phone} {way} {movement.amount} ({movement.channel} {movement.reference})"
                lines.append((movement.at - EPOCH.timestamp(), text))
        lines += self._events(about) + self._moves(about)
        lines += _nearest(around, [at for at, _ in lines], max(_MOST_LINES - len(lines), 0))
        lines.sort(key=lambda line: line[0])
        return [f"{at:9.3f}  {text}" for at, text in lines]

    def _phones_and_keys(self, transaction_ids: list[str]) -> set[str]:
        if not transaction_ids:
            return set()
        named = ",".join(f"'{each}'" for each in transaction_ids)
        rows = self._database.look().ask(f"SELECT phone, network_key FROM transactions WHERE id IN ({named})")
        return {str(value) for row in rows for value in row}

    def _events(self, about: set[str]) -> list[tuple[float, str]]:
        rows = self._database.look().ask(
            """
            SELECT t.id, t.phone, t.network_key, e.event, date_part('epoch', e.created_at)
            FROM events e JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            ORDER BY e.created_at
            """
        )
        return [
            (float(row[4] or 0) - EPOCH.timestamp(), f"malipo     {row[0]} {row[3]}")
            for row in rows
            if not about or row[1] in about
        ]

    def _moves(self, about: set[str]) -> list[tuple[float, str]]:
        rows = self._database.look().ask(
            """
            SELECT t.id, t.phone, m.step, m.source, m.target, m.amount, date_part('epoch', m.created_at)
            FROM moves m JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
            ORDER BY m.created_at, m.ordinal, m.move_number
            """
        )
        return [
            (float(at or 0) - EPOCH.timestamp(), f"ledger     {id_} {step}: {source} to {target} {amount}")
            for id_, phone, step, source, target, amount, at in rows
            if not about or phone in about
        ]


def _nearest(around: list[tuple[float, str]], moments: list[float], count: int) -> list[tuple[float, str]]:
    """So many of what happened around a payment, those that are nearest in time to what happened to it."""
    return sorted(around, key=lambda line: min((abs(line[0] - moment) for moment in moments), default=0.0))[:count]


def _wire(entry: Any) -> str:
    way = "<-" if entry.direction == "in" else "->"
    status = "no answer" if entry.status is None else entry.status
    return f"{way} {entry.gateway} {entry.method} {entry.path[:60]} {status} {entry.verdict or ''}".rstrip()
