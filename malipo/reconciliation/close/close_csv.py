"""A closed day as CSV for a spreadsheet: one table of equal rows, to filter by section and channel. Pure."""

from collections.abc import Iterator

from malipo import clock
from malipo.reconciliation.close.close_figures import ChannelSection, CloseSheet, sheet_of
from malipo.reconciliation.close.signed_content import DayClose
from malipo.table_files.csv_export import csv_lines

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
    "merchant",
)
_Cell = str | int


def csv_of(close: DayClose) -> str:
    """Amounts are whole shillings, without separators, so that a spreadsheet can add them."""
    return csv_lines([COLUMNS, *_rows(sheet_of(close))])


def _rows(sheet: CloseSheet) -> Iterator[tuple[_Cell, ...]]:
    for channel in sheet.channels:
        for row in _of_channel(channel):
            yield (str(sheet.day), *row, *[""] * (len(COLUMNS) - 1 - len(row)))
    for each in sheet.balances:
        yield _row(sheet, "balance", each.account, each.balance)
        yield _row(sheet, "change of the day", each.account, each.change)
    yield _row(sheet, "balance", "wallets as stored", sheet.wallets)
    yield _row(sheet, "balance", "in flight as stored", sheet.in_flight)
    yield _row(sheet, "balance", "trial balance", sheet.trial_balance)
    yield _row(sheet, "balance", "owed by merchants", sheet.owed)
    yield from _safeguarding(sheet)


def _safeguarding(sheet: CloseSheet) -> Iterator[tuple[_Cell, ...]]:
    found = sheet.safeguarding
    for name, amount in found.owned:
        yield _row(sheet, "safeguarding", f"owned: {name}", amount)
    for each in found.places:
        yield _row(sheet, "safeguarding", f"there: {each.name}", each.there)
    yield _row(sheet, "safeguarding", "merchants own", found.merchants)
    yield _row(sheet, "safeguarding", "is there", found.there)
    yield _row(sheet, "safeguarding", "difference", found.difference)
    yield _row(sheet, "safeguarding", "the house's own", found.own)
    yield _row(sheet, "safeguarding", "explained", found.explained)
    yield _row(sheet, "safeguarding", "missing in suspense", -found.missing)
    yield _row(sheet, "safeguarding", "unexplained", found.unexplained)


def _row(sheet: CloseSheet, section: str, name: str, amount: int) -> tuple[_Cell, ...]:
    return (str(sheet.day), section, "", "", name, "", "", "", "", amount, "", "", "")


def _of_channel(channel: ChannelSection) -> Iterator[tuple[_Cell, ...]]:
    name = channel.channel
    for row in channel.rows:
        statement = "" if row.statement is None else row.statement
        difference = "" if row.difference is None else row.difference
        yield ("columns", name, "", row.name, "", "", "", statement, row.ledger, difference, "")
    for account, balance in channel.accounts:
        yield ("account", name, account, "closing", "", "", "", balance, "", "", "")
    for each in channel.readings:
        account, read = each.account, each.reading
        at = "" if read.read_at is None else f" {read.read_at.astimezone(clock.ZONE):%Y-%m-%d %H:%M}"
        yield ("reading", name, account, f"last of the day{at}", "", "", "", read.amount, "", "", "")
        if read.stated is not None:
            yield ("reading", name, account, f"by its statement{at}", "", "", "", read.stated, "", "", "")
    for total in channel.open:
        yield ("open", name, "", f"{total.reason} ({total.count})", "", "", "", "", "", total.amount, "")
    for item in channel.items:
        what = " ".join(filter(None, (item.reason, item.what, item.kind)))
        found = (item.name, item.payment, item.exception)
        yield ("open item", name, item.account, what, *found, "", "", item.amount, str(item.since), item.merchant)
