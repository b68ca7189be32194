"""A closed day as CSV for a spreadsheet: one table of equal rows, to filter by section and channel. Pure."""

from collections.abc import Iterator

from malipo import clock
from malipo.csv_export import csv_lines
from malipo.reconciliation.close.day_close import ChannelClose, DayClose

COLUMNS = (
    "day",
    "section",
    "channel",
    "account",
    "row",
    "reference",
    "payment",
    "exception",
    "statement",
    "ledger",
    "difference",
    "openSince",
)
_Cell = str | int


def csv_of(close: DayClose) -> str:
    """Amounts are whole shillings, without separators, so that a spreadsheet can add them."""
    return csv_lines([COLUMNS, *_rows(close)])


def _rows(close: DayClose) -> Iterator[tuple[_Cell, ...]]:
    for channel in close.channels:
        for row in _of_channel(channel):
            yield (str(close.day), *row)
    for account, balance in close.balances.items():
        yield _row(close, "balance", account, balance)
        yield _row(close, "change of the day", account, close.changes.get(account, 0))
    yield _row(close, "balance", "wallets as stored", close.wallets)
    yield _row(close, "balance", "in flight as stored", close.in_flight)
    yield _row(close, "balance", "trial balance", close.trial_balance)
    yield _row(close, "balance", "owed by merchants", close.owed)


def _row(close: DayClose, section: str, name: str, amount: int) -> tuple[_Cell, ...]:
    return (str(close.day), section, "", "", name, "", "", "", "", amount, "", "")


def _of_channel(channel: ChannelClose) -> Iterator[tuple[_Cell, ...]]:
    name = channel.channel
    for row in channel.rows:
        statement = "" if row.statement is None else row.statement
        difference = "" if row.difference is None else row.difference
        yield ("columns", name, "", row.name, "", "", "", statement, row.ledger, difference, "")
    for account, held in channel.accounts.items():
        yield ("account", name, account, "closing", "", "", "", held, "", "", "")
    for account, read in channel.last_readings:
        at = "" if read.read_at is None else f" {read.read_at.astimezone(clock.ZONE):%Y-%m-%d %H:%M}"
        yield ("reading", name, account, f"last of the day{at}", "", "", "", read.amount, "", "", "")
        if read.stated is not None:
            yield ("reading", name, account, f"by its statement{at}", "", "", "", read.stated, "", "", "")
    for reason, total in channel.open.items():
        yield ("open", name, "", f"{reason} ({total.count})", "", "", "", "", "", total.amount, "")
    for item in channel.items:
        what = " ".join(filter(None, (item.reason, item.what, item.kind)))
        found = (item.name, item.payment, item.exception)
        yield ("open item", name, item.account, what, *found, "", "", item.amount, str(item.since))
