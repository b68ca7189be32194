"""A close in plain English: its figures in lines for the terminal. Pure.

A proposal to accept a difference stores these lines, because its proposer was shown them.
"""

from malipo import clock, money
from malipo.reconciliation.close.close_figures import (
    AccountReading,
    ChannelSection,
    CloseOutcome,
    CloseSheet,
    sheet_of,
)
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.safeguarding import Cover, Place, Safeguarding
from malipo.reconciliation.close.signed_content import ColumnRow, DayClose, ItemKind, OpenItem, OpenReason

MOST_ITEMS = 10

REASONS = {
    OpenReason.TIMING: "on another day on the other side",
    OpenReason.EXCEPTION: "known as an exception",
    OpenReason.EXPECTED: "from shortly before midnight, expected in the next statement",
    OpenReason.ROUNDING: "cents that the two sides round at different moments",
    OpenReason.TRANSFER: "on its way between bank and network",
    OpenReason.OTHER_CARRIER: "carried by an aggregator of which there is no statement",
    OpenReason.NO_STATEMENT: "without a statement",
    OpenReason.ACCEPTED: "accepted by two operators with an earlier day",
    OpenReason.UNEXPLAINED: "not explained",
}
WHAT = {
    ItemKind.PAYMENT: "payment",
    ItemKind.LINE: "line",
    ItemKind.FEE: "fees of",
    ItemKind.SWEEP: "sweeps of",
    ItemKind.BOOKING: "booking",
    ItemKind.BALANCE: "balance that does not follow from the lines",
    ItemKind.ROUNDING: "cents",
    ItemKind.LATE: "moves that were written after the close of their day",
}

_BALANCES = {
    "wallet": "Merchants' wallets",
    "in_flight": "In flight",
    "in_settlement": "In settlement",
    "fees": "Fees earned",
    "network_fees": "Fees that networks charged",
    "rounding": "Rounding of cents",
    "suspense": "Suspense",
    "losses": "Losses",
    "bank": "Bank",
    "equity": "Opening balances and equity",
    "interest": "Interest of the bank",
    "other_income": "Other income",
    "bank_charges": "Charges of the bank",
    "taxes": "Taxes paid",
    "vat": "VAT owed",
}


def title_of(account: str) -> str:
    return _BALANCES.get(account, account.replace("float ", "Float at "))


_OUTCOMES = {
    CloseOutcome.AGREES: "The day adds up.",
    CloseOutcome.EXPLAINED: "What differs is explained to the shilling.",
    CloseOutcome.UNEXPLAINED: "The day does not add up.",
}


def verdict_of(closed: ClosedDay, sheet: CloseSheet) -> str:
    found = [_OUTCOMES[sheet.outcome]]
    if closed.requested_by is not None:
        found.append(f"Accepted by {closed.requested_by} and {closed.closed_by}: {closed.reason}")
    elif closed.reason:
        found.append(f"Closed without a statement of {', '.join(sheet.without)}: {closed.reason}")
    return " ".join(found)


def in_words(item: OpenItem) -> str:
    """`TZS 5,000 only in the statement: line QK12 of 2026-11-15 (theirs_only exc_…)`."""
    side = "between the two" if item.side == "both" else f"only in the {item.side}"
    name = " ".join(filter(None, (WHAT[item.what], item.name, f"of account {item.account}" if item.account else "")))
    noted = f" ({item.kind} {item.exception})" if item.exception else ""
    change = -item.amount if item.side == "ledger" else item.amount
    return f"{money.display(change)} {side}: {name}, {item.day}{noted}"


def lines_of(close: DayClose) -> list[str]:
    """Each channel, and each account of the ledger: what the page of the day shows."""
    sheet = sheet_of(close)
    return [
        *(line for each in sheet.channels for line in channel_lines(each)),
        *balance_lines(sheet),
        *safeguarding_lines(sheet.safeguarding),
    ]


def channel_lines(channel: ChannelSection) -> list[str]:
    lines = [f"{channel.channel:<14}{'statement':>16}{'ledger':>16}{'difference':>16}"]
    lines += [_line(row) for row in channel.rows_with_amounts]
    lines += [_reading_line(each) for each in channel.readings]
    for total in channel.open:
        lines.append(f"  open: {money.display(total.amount)}, {total.count:,} {REASONS[total.reason]}")
    lines += [f"    {in_words(each)}" for each in channel.items[:MOST_ITEMS]]
    if len(channel.items) > MOST_ITEMS:
        lines.append("    and more: see the page of the day, or its CSV once it is closed")
    return lines


def _line(row: ColumnRow) -> str:
    statement = "-" if row.statement is None else f"{row.statement:,}"
    difference = "" if row.difference is None else f"{row.difference:,}"
    return f"  {row.name:<12}{statement:>16}{row.ledger:>16,}{difference:>16}".rstrip()


def _reading_line(each: AccountReading) -> str:
    account, read = each.account, each.reading
    at = "" if read.read_at is None else f" at {read.read_at.astimezone(clock.ZONE):%H:%M}"
    stated = "no statement covers that time" if read.stated is None else f"its statement then: {read.stated:,}"
    return f"  last reading{' of ' + account if account else ''}{at}: {read.amount:,}; {stated}"


def balance_lines(sheet: CloseSheet) -> list[str]:
    lines = [f"{'balances':<30}{'in the day':>16}{'at its end':>16}"]
    lines += [f"  {title_of(each.account):<28}{each.change:>16,}{each.balance:>16,}" for each in sheet.balances]
    lines.append(f"  {'trial balance':<44}{sheet.trial_balance:>16,}")
    lines.append(f"  {'owed by merchants':<44}{sheet.owed:>16,}")
    return lines


COVERS = {
    Cover.COVERED: "What merchants own is there, and the rest is the house's own.",
    Cover.UNEXPLAINED: "What merchants own is there. The rest is not all the house's own: find out whose it is.",
    Cover.SHORT: "LESS IS THERE THAN MERCHANTS OWN.",
}


def safeguarding_lines(found: Safeguarding) -> list[str]:
    lines = [f"safeguarding: {COVERS[found.cover]}"]
    lines += [f"  {title_of(name):<44}{amount:>16,}" for name, amount in found.owned]
    lines.append(f"  {'merchants own':<44}{found.merchants:>16,}")
    lines += [f"  {_place(each):<44}{each.there:>16,}" for each in found.places]
    lines.append(f"  {'is there for it':<44}{found.there:>16,}")
    lines.append(f"  {'difference':<44}{found.difference:>16,}")
    lines.append(f"  {'of it the own money of the house':<44}{found.own:>16,}")
    lines.append(f"  {'of it explained, between statement and ledger':<44}{found.explained:>16,}")
    if found.missing:
        lines.append(f"  {'of it missing in suspense, or owed':<44}{-found.missing:>16,}")
    lines.append(f"  {'of it unexplained':<44}{found.unexplained:>16,}")
    return lines


def _place(place: Place) -> str:
    return f"{title_of(place.name)}, by {'the ledger' if place.stated is None else 'its statement'}"
