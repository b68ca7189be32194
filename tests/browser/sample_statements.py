"""Yesterday at a shop in Mwanza, and what the networks' statements say of it: M-Pesa's has three lines that do not fit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

from malipo import clock, ids
from malipo.db import Database
from malipo.ledger import transfers
from malipo.ledger.transfers import Transfer, TransferKind
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel
from malipo.operators import store
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.matching.match_statements import match_statements
from malipo.settings import Settings
from tests.browser.sample_trade import Shop
from tests.cheap_hash import PASSWORD, cheap_hash
from tests.conftest import NOBODY, make_merchant, starting, until_ready
from tests.dashboard.conftest import OPTIONAL
from tests.reconciliation.close.books import last_to_close

__all__ = ["FINANCE", "PASSWORD", "Yesterday", "at_work"]

FINANCE = ("zuhura", "baraka")  # two operators
# What lay at each network when the day began.
OPENING = {
    Channel.MPESA: 4_350_000,
    Channel.TIGO_PESA: 1_280_000,
    Channel.AIRTEL_MONEY: 2_040_000,
    Channel.HALOPESA: 160_000,
}
_HEADER = "receipt,time,amount,balance,reference,phone,details,class"


@dataclass(frozen=True)
class Line:
    receipt: str
    at: datetime
    amount: int
    key: str = ""
    phone: str = ""
    details: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Yesterday:
    url: str
    day: date
    mpesa: Path  # the statement that nobody has imported yet


@asynccontextmanager
async def at_work(database: Database, database_url: str, folder: Path) -> AsyncIterator[Yesterday]:
    """A running service after yesterday's trade. The statements of the other networks are imported, and fit."""
    day = last_to_close(clock.now())
    merchant = await make_merchant(database, wallet=2_400_000, name="Duka la Mwaloni, Mwanza")
    await Shop(database, merchant, days=1).trade(_at(day, "22:00"))
    async with database.begin() as tx:
        for channel in Channel:
            transfer = Transfer(TransferKind.FROM_BANK, channel, "", OPENING[channel], f"CRDB-{channel}")
            await transfers.book(tx, transfer, booked_by=NOBODY.name, now=_at(day - timedelta(days=1), "12:00"))
        for name in FINANCE:
            id_ = ids.mint("opr_", clock.now())
            assert await store.insert_operator(tx, id_, name, now=clock.now())
            await store.set_password(tx, id_, cheap_hash())
    for channel in Channel:
        lines = await _lines(database, channel, day)
        path = folder / f"{channel.lower()}-{day}.csv"
        if channel is Channel.MPESA:
            _write(path, day, _with_differences(lines), OPENING[channel])
        else:
            _write(path, day, lines, OPENING[channel])
            await _import(database, path, channel)
    await match_statements(
        database,
        ApplyNetworkAnswers(clock=clock.now, rules=QueryRules.of(Settings())),
        approval_amount=1_000_000,
        clock=clock.now,
    )
    with starting(folder) as start:
        running = await until_ready(start("api", database_url=database_url, float_low="HALOPESA=300000", **OPTIONAL))
        yield Yesterday(running.url, day, folder / f"mpesa-{day}.csv")


async def _lines(database: Database, channel: Channel, day: date) -> list[Line]:
    """As the network has them: each payment, and its fee."""
    async with database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT provider_reference, ended_at, type, amount, network_key, phone FROM transactions
            WHERE channel = $1 AND status = 'COMPLETED' AND created_at >= $2 ORDER BY ended_at
            """,
            channel,
            _at(day, "00:00"),
        )
    lines = []
    for receipt, at, type_, amount, key, phone in rows:
        is_payout = type_ == "DISBURSEMENT"
        masked = f"{phone[1:7]}***{phone[-3:]}"
        details = f"Business payment to {masked}" if is_payout else f"Pay bill from {masked}"
        lines.append(Line(receipt, at, -amount if is_payout else amount, key, masked, details))
        if is_payout:
            lines.append(Line(receipt, at, -(300 + amount // 200), details="Business payment charge", kind="fee"))
    return lines


def _with_differences(lines: list[Line]) -> list[Line]:
    """Somebody whom nobody knows has paid, and a correction of the network's came, and what went to the bank."""
    first, last = lines[0].at, lines[-1].at
    return [
        lines[0],
        Line("QK55512345", first + timedelta(minutes=7), 15_000, "", "255754***611", "Pay bill from 255754***611"),
        *lines[1:],
        Line("QK55512399", last + timedelta(minutes=11), -1_250, details="Correction of commission", kind="other"),
        Line("QK55512400", last + timedelta(minutes=20), -1_500_000, details="Bank transfer to CRDB", kind="bank"),
    ]


def _write(path: Path, day: date, lines: list[Line], opening: int) -> None:
    balance = opening
    rows = []
    for each in lines:
        balance += each.amount
        at = f"{each.at.astimezone(clock.ZONE):%Y-%m-%d %H:%M:%S}"
        rows.append(f"{each.receipt},{at},{each.amount},{balance},{each.key},{each.phone},{each.details},{each.kind}")
    heading = [
        f"opening balance,{opening}",
        f"closing balance,{balance}",
        f"from,{day} 00:00:00",
        f"to,{day + timedelta(days=1)} 00:00:00",
    ]
    path.write_text("\n".join([*heading, _HEADER, *rows, ""]))


async def _import(database: Database, path: Path, channel: Channel) -> None:
    async with database.begin() as tx:
        await import_statement(
            tx,
            StatementImport(
                path,
                channel=channel,
                account="",
                profile=built_in()["generic"],
                is_new_account=True,
            ),
            actor=NOBODY,
            now=clock.now(),
        )


def _at(day: date, text: str) -> datetime:
    return datetime.combine(day, time.fromisoformat(text), clock.ZONE)
