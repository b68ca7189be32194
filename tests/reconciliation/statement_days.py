"""Statements about real payments, written as a network would, imported and matched."""

import csv
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel, Verdict
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.check import transactions as payments_check
from malipo.payments.dispatch import AnswerSource, QueryRules
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.match_statements import MatchingResult, match_statements
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.exceptions import ExceptionFilter
from tests.conftest import NOBODY
from tests.payments.payment_steps import PaymentSteps

WORKER = Actor("malipo", "worker")  # who fetches statements
ASHA, JUMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma"))
OPENING = 5_000_000


@dataclass(frozen=True)
class Entry:
    """A line of the generic layout."""

    receipt: str
    amount: int | Decimal
    at: datetime
    details: str = "Payment"
    key: str = ""
    phone: str = ""
    linked: str = ""


def line_of(payment: Transaction, receipt: str | None = None, *, key: str | None = None, **changes: Any) -> Entry:
    """As the network has it: with its receipt and, unless said otherwise, our key."""
    signed = payment.amount if payment.type is Type.COLLECTION else -payment.amount
    given: dict[str, Any] = {
        "receipt": receipt or payment.provider_reference or f"R{payment.network_key}",
        "amount": signed,
        "at": payment.created_at + timedelta(seconds=30),
        "key": payment.network_key if key is None else key,
        "phone": payment.phone,
    }
    return Entry(**given | changes)


def fee_of(entry: Entry, amount: int | Decimal) -> Entry:
    return Entry(entry.receipt, -amount, entry.at, "Transaction fee")


def reversal_of(entry: Entry, **changes: Any) -> Entry:
    given: dict[str, Any] = {
        "receipt": f"{entry.receipt}R",
        "amount": -entry.amount,
        "at": entry.at + timedelta(minutes=1),
        "details": f"Reversal of {entry.receipt}",
        "linked": entry.receipt,
    }
    return Entry(**given | changes)


@dataclass
class Statements:
    """A merchant's payments, and the statements of their network."""

    steps: PaymentSteps
    folder: Path
    channel: Channel = Channel.MPESA
    account: str = ""
    files: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.steps.database

    def write(
        self,
        *entries: Entry,
        opening: int | Decimal = OPENING,
        begins: datetime | None = None,
        ends: datetime | None = None,
        name: str | None = None,
        has_balances: bool = True,
    ) -> Path:
        """A file from yesterday to the day after tomorrow, unless said otherwise."""
        self.files += 1
        now = clock.now()
        begins, ends = begins or now - timedelta(days=1), ends or now + timedelta(days=2)
        # A file says the time that its lines have.
        begins, ends = min([begins, *(each.at for each in entries)]), max([ends, *(each.at for each in entries)])
        balance: int | Decimal = opening
        rows: list[list[object]] = [["receipt", "time", "amount", "balance", "details", "reference", "phone"]]
        rows[0].append("linked receipt")
        for each in entries:
            balance += each.amount
            at = each.at.astimezone(clock.ZONE)
            rows.append([each.receipt, f"{at:%Y-%m-%d %H:%M:%S}", each.amount, balance, each.details, each.key])
            rows[-1] += [each.phone, each.linked]
        heading: list[list[object]] = [["opening balance", opening], ["closing balance", balance]]
        for label, moment in (("from", begins), ("to", ends)):
            heading.append([label, f"{moment.astimezone(clock.ZONE):%Y-%m-%d %H:%M:%S}"])
        if not has_balances:
            heading = heading[2:]
            rows = [[*row[:3], *row[4:]] for row in rows]
        path = self.folder / (name or f"statement-{self.files}.csv")
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([*heading, *rows])
        return path

    async def load(
        self,
        path: Path,
        *,
        accepts_problems: bool = False,
        account: str | None = None,
        is_new_account: bool = True,
        by: Actor = NOBODY,
    ) -> ImportResult:
        async with self.database.begin() as tx:
            return await import_statement(
                tx,
                StatementImport(
                    path,
                    channel=self.channel,
                    account=self.account if account is None else account,
                    profile=built_in()["generic"],
                    accepts_problems=accepts_problems,
                    is_new_account=is_new_account,
                ),
                actor=by,
                now=clock.now(),
            )

    def apply_answers(self) -> ApplyNetworkAnswers:
        return ApplyNetworkAnswers(clock=clock.now, rules=QueryRules.of(self.steps.service.settings))

    async def match(self, approval_amount: int = 1_000_000) -> MatchingResult:
        return await match_statements(
            self.database, self.apply_answers(), approval_amount=approval_amount, clock=clock.now
        )

    async def take(self, *entries: Entry, **how: Any) -> MatchingResult:
        """Import a file of these lines, and match it."""
        await self.load(self.write(*entries, **how))
        return await self.match()

    async def open_exceptions(self) -> list[ReconciliationException]:
        """The oldest first."""
        async with self.database.read() as connection:
            found = await exceptions.find(connection, ExceptionFilter(), limit=1000)
        return [each for each in found[::-1] if not self.account or each.account == self.account]

    async def kinds(self) -> list[tuple[str, int]]:
        return sorted((each.kind, each.amount) for each in await self.open_exceptions())

    async def matches(self) -> list[tuple[str, str, str]]:
        """Receipts of lines, payments and roles."""
        async with self.database.read() as connection:
            rows = await connection.fetch(
                """
                SELECT l.receipt, m.transaction_id, m.role FROM statement_matches m
                JOIN statement_lines l ON l.id = m.line_id ORDER BY 1, 3, 2
                """
            )
        return [tuple(row) for row in rows]

    async def float_change(self) -> int:
        """What the ledger says that the account at the network has moved, signed as in a statement."""
        async with self.database.snapshot() as connection:
            balances = await ledger_check.balances(connection)
        return -sum(amount for name, amount in balances.items() if name.startswith("float"))

    async def statement_change(self) -> int:
        async with self.database.read() as connection:
            return int(await connection.fetchval("SELECT coalesce(sum(amount), 0) FROM statement_lines"))

    async def check_ledger(self) -> None:
        async with self.database.snapshot() as connection:
            found = [*await ledger_check.check(connection), *await payments_check.check(connection)]
        assert found == []

    async def completed(self, type_: Type = Type.COLLECTION, amount: int = 1000, receipt: str = "") -> Transaction:
        """A payment that its network has reported, with its receipt."""
        sent = await self.steps.send(type_, amount)
        how = {"provider_reference": receipt or f"QK{sent.network_key}"}
        return (await self.steps.report(sent, Verdict.CONFIRMED, AnswerSource.SEND, **how)).transaction

    async def status(self, payment: Transaction) -> Status:
        return await self.steps.status(payment)


@pytest.fixture
def statements(steps: PaymentSteps, tmp_path: Path) -> Statements:
    return Statements(steps, tmp_path)
