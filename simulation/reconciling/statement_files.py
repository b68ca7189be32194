"""The networks' statements of a run, as files: what a portal shows, and how an operator has exported it.

A seed decides which portals show our key on collections and on payouts, and which networks charge cents. Customers and
merchants write remarks, which read as fees, sweeps and bank transfers.
"""

import csv
import io
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

from msgspec.structs import replace

from malipo.networks.connector import Channel, Type
from malipo.table_files import rows
from malipo.table_files.document_reader import element_rows, line_rows
from malipo.table_files.limits import ReadingLimits
from malipo_simulator.state import State
from malipo_simulator.statements.account import (
    ZONE,
    AccountStatement,
    StatementEntry,
    entries_of,
    statement_of,
    with_balances,
)
from malipo_simulator.statements.layouts import as_csv, exact, plain_words
from malipo_simulator.transaction import GatewayName

_PAYMENTS = ("collection", "disbursement")
# Whatever a layout makes of these, nothing is booked by them.
_REMARKS = (
    *("", "", "Rent", "School fees", "Fees of January", "Charges of the clinic"),
    *("Bank of my uncle", "Bank loan of Juma", "Bank transfer for Neema", "Withdrawal of goods"),
    *("Reversed lorry, repaired", "Refund of the deposit", "Bonus for Asha", "Interest of March"),
)
# These begin as a network's own words do. Without our key nobody can tell the line of a lost payment from a charge.
_AS_NETWORKS_WRITE = (
    *("Monthly fee, given back", "Transaction fee of the lawyer", "Fee"),
    *("Sweep of the yard", "Sweeper of March"),
)
# How often a portal does not show our key.
_WITHOUT_KEY = {"collection": 0.3, "disbursement": 0.3}
_MPESA_PAYOUTS_WITHOUT_KEY = 0.5
_WITH_CENTS, _CENTS = 0.5, (0, 0, 40, 50, 60, 99)


@dataclass(frozen=True)
class Layout:
    """How an operator has exported a statement."""

    is_generic: bool = False  # the table that operators make themselves, and not the portal's
    has_seconds: bool = True
    days: int = 1  # up to that day; a generic one of several days has a heading
    clickpesa: str = "clickpesa"  # what they call that account


PORTAL, GENERIC, RENAMED = Layout(), Layout(is_generic=True, has_seconds=False), Layout(clickpesa="ClickPesa")
WEEK = Layout(is_generic=True, days=7)
# How the same days are exported and imported once more, when all is matched.
AGAIN = (PORTAL, GENERIC, RENAMED, WEEK)


def read_here(
    path: Path,
    limits: ReadingLimits,
    *,
    is_workbook: bool = False,
    document: str = "",
    encoding: str | None = None,
    delimiter: str = ",",
) -> Iterator[list[rows.Cell]]:
    """In this process: another one for each file would cost as much as the rest of a seed, and its limits are tested
    elsewhere."""
    assert not is_workbook
    if document:
        yield from _read_document(path, document, limits)
        return
    with path.open(newline="", encoding=encoding or "utf-8-sig") as file:
        yield from csv.reader(file, delimiter=delimiter)


def _read_document(path: Path, document: str, limits: ReadingLimits) -> list[list[rows.Cell]]:
    """The reader reads its standard input, as its process has the file there."""
    command, before = {"cell_characters": limits.cell_characters}, os.dup(0)
    try:
        with path.open("rb") as file:
            os.dup2(file.fileno(), 0)
            found = element_rows(command) if document == "xml" else line_rows(command, "utf-8")
            return list(found)
    finally:
        os.dup2(before, 0)
        os.close(before)


def gateway_of(channel: str, type_: str) -> GatewayName:
    """Whose account a payment moves. HaloPesa pays out through ClickPesa here."""
    is_clickpesa = (channel, type_) == (Channel.HALOPESA, Type.DISBURSEMENT)
    return GatewayName.CLICKPESA if is_clickpesa else GatewayName(channel)


def channel_of(gateway: GatewayName) -> Channel:
    """ClickPesa carries payouts to HaloPesa: an account of its own of that channel."""
    return Channel.HALOPESA if gateway is GatewayName.CLICKPESA else Channel(gateway)


class StatementFiles:
    def __init__(self, memory: State, seed: int, folder: Path) -> None:
        """`memory` is that of the networks."""
        self._memory = memory
        self.folder = folder
        self._seed = seed
        chance = random.Random(f"statements {seed}")
        self._without_key: set[tuple[GatewayName, str]] = set()
        self._with_cents: set[GatewayName] = set()
        for gateway in GatewayName:
            for kind, share in _WITHOUT_KEY.items():
                is_mpesa_payout = (gateway, kind) == (GatewayName.MPESA, "disbursement")
                if chance.random() < (_MPESA_PAYOUTS_WITHOUT_KEY if is_mpesa_payout else share):
                    self._without_key.add((gateway, kind))
            if chance.random() < _WITH_CENTS:
                self._with_cents.add(gateway)
        self._written = 0

    def write(
        self, gateway: GatewayName, day: date, *, until: float | None = None, layout: Layout = PORTAL
    ) -> Path | None:
        """The statement of an account and a day; None if it has no lines. `until`: of a day that is not over."""
        statement = statement_of(self._memory, gateway, day, merchant="Demo Shop", until=until)
        if not statement.entries:
            return None
        shown = with_balances(replace(statement, entries=[self._as_shown(gateway, each) for each in statement.entries]))
        self._written += 1
        path = self.folder / f"{gateway}-{day}-{self._written}.csv"
        # A table of one's own is not one of an aggregator, which serves several channels.
        is_generic = layout.is_generic and gateway is not GatewayName.CLICKPESA
        path.write_text(_generic(shown, layout) if is_generic else as_csv(shown))
        return path

    def shows_key(self, channel: str, type_: str) -> bool:
        """Whether the lines of such payments have our key."""
        kind = "collection" if type_ == Type.COLLECTION else "disbursement"
        return (gateway_of(channel, type_), kind) not in self._without_key

    def charges(self) -> Counter[Channel]:
        """What the networks have charged in all, in cents, by their own book."""
        charged: Counter[Channel] = Counter()
        for gateway in GatewayName:
            for entry in entries_of(self._memory, gateway):
                if entry.kind == "fee":
                    shown = self._as_shown(gateway, entry)
                    charged[channel_of(gateway)] -= shown.amount * 100 + shown.cents
        return charged

    def _as_shown(self, gateway: GatewayName, entry: StatementEntry) -> StatementEntry:
        """A customer or a merchant has written a remark on some, and charges have cents; the same in every file."""
        if entry.kind == "fee" and gateway in self._with_cents:
            return replace(entry, cents=-random.Random(f"cents {self._seed} {entry.receipt}").choice(_CENTS))
        if entry.kind not in _PAYMENTS:
            return entry
        is_without = (gateway, entry.kind) in self._without_key
        remarks = _REMARKS if is_without else _REMARKS + _AS_NETWORKS_WRITE
        remark = random.Random(f"remark {self._seed} {entry.receipt}").choice(remarks)
        return replace(entry, remark=remark, reference="" if is_without else entry.reference)


def _generic(statement: AccountStatement, layout: Layout) -> str:
    """The generic layout, newest first: what a spreadsheet is left with. Of several days with a heading."""
    text = io.StringIO()
    writer = csv.writer(text)
    if layout.days > 1:
        begins = datetime.combine(statement.day - timedelta(days=layout.days - 1), time(), ZONE)
        ends = datetime.combine(statement.day + timedelta(days=1), time(), ZONE)
        if statement.until is not None:
            ends = datetime.fromtimestamp(statement.until, ZONE)
        writer.writerow(["from", f"{begins:%Y-%m-%d %H:%M:%S}", "to", f"{ends:%Y-%m-%d %H:%M:%S}"])
        writer.writerow(["opening balance", statement.opening])
        writer.writerow(["closing balance", exact(statement.closing, statement.closing_cents)])
    writer.writerow(["time", "receipt", "details", "amount", "balance", "reference", "phone", "linked receipt"])
    for entry in reversed(statement.entries):
        at = datetime.fromtimestamp(entry.at, ZONE)
        shown_time = f"{at:%d/%m/%Y %H:%M:%S}" if layout.has_seconds else f"{at:%d/%m/%Y %H:%M}"
        amounts = [exact(entry.amount, entry.cents), exact(entry.balance, entry.balance_cents)]
        who = [entry.reference, entry.phone, entry.linked]
        writer.writerow([shown_time, entry.receipt, plain_words(entry), *amounts, *who])
    return text.getvalue()
