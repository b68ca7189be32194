"""Where a day does not add up, in shillings, in sentences; and its statements and its ledger side by side. Pure."""

from malipo import clock, money
from malipo.reconciliation.close.day_close import ChangeKind, ChannelClose, DayClose, Item, Reason, Row

_MOST_ITEMS = 10

REASONS = {
    Reason.TIMING: "on another day on the other side",
    Reason.EXCEPTION: "known as an exception",
    Reason.EXPECTED: "from shortly before midnight, expected in the next statement",
    Reason.ROUNDING: "cents that the two sides round at different moments",
    Reason.TRANSFER: "on its way between bank and network",
    Reason.OTHER_CARRIER: "carried by an aggregator of which there is no statement",
    Reason.NO_STATEMENT: "without a statement",
    Reason.ACCEPTED: "accepted by two operators with an earlier day",
    Reason.UNEXPLAINED: "not explained",
}
WHAT = {
    "payment": "payment",
    "line": "line",
    "fee": "fees of",
    "sweep": "sweeps of",
    "booking": "booking",
    "balance": "balance that does not follow from the lines",
    "rounding": "cents",
    "late": "moves that were written after the close of their day",
}

_BALANCES = {
    "wallet": "Merchants' wallets",
    "in_flight": "In flight",
    "fees": "Fees earned",
    "network_fees": "Fees that networks charged",
    "rounding": "Rounding of cents",
    "suspense": "Suspense",
    "losses": "Losses",
    "bank": "Bank",
}


def title_of(account: str) -> str:
    return _BALANCES.get(account, account.replace("float ", "Float at "))


def sentences_of(close: DayClose) -> list[str]:
    """Per channel: which kind of change differs, and the biggest things that nothing explains."""
    told = [sentence for channel in close.channels if not channel.adds_up for sentence in _of_channel(channel)]
    if close.trial_balance:
        told.append(f"The trial balance is {money.display(close.trial_balance)}, not zero. See: malipo ledger check")
    return told


def _of_channel(channel: ChannelClose) -> list[str]:
    told = [f"{channel.channel}: {money.display(channel.unexplained)} between statement and ledger are not explained."]
    differing = [(kind, difference_of(channel, kind)) for kind in ChangeKind]
    told += [f"{channel.channel}: The sums of '{kind}' differ by {money.display(by)}." for kind, by in differing if by]
    unexplained = [each for each in channel.items if each.reason is Reason.UNEXPLAINED]
    told += [f"{channel.channel}: {in_words(each)}." for each in unexplained[:_MOST_ITEMS]]
    if (more := channel.open[Reason.UNEXPLAINED].count - _MOST_ITEMS) > 0:
        told.append(f"{channel.channel}: and {more:,} more.")
    if any(each.what in ("payment", "line") for each in unexplained):
        told.append(f"{channel.channel}: lines and payments are matched by: malipo statements match")
    return told


def difference_of(channel: ChannelClose, kind: ChangeKind) -> int:
    """By how much the statement's changes are more than the ledger's."""
    statement = {} if channel.statement is None else channel.statement.changes
    return statement.get(kind, 0) - channel.ledger.changes.get(kind, 0)


def in_words(item: Item) -> str:
    """`TZS 5,000 only in the statement: line QK12 of 2026-11-15 (theirs_only exc_…)`."""
    side = "between the two" if item.side == "both" else f"only in the {item.side}"
    name = " ".join(filter(None, (WHAT[item.what], item.name, f"of account {item.account}" if item.account else "")))
    noted = f" ({item.kind} {item.exception})" if item.exception else ""
    change = -item.amount if item.side == "ledger" else item.amount
    return f"{money.display(change)} {side}: {name}, {item.day}{noted}"


def lines_of(close: DayClose) -> list[str]:
    """Each channel, and each account of the ledger: what the page of the day shows."""
    lines = [line for channel in close.channels for line in channel_lines(channel)]
    return [*lines, *balance_lines(close)]


def channel_lines(channel: ChannelClose) -> list[str]:
    lines = [f"{channel.channel:<14}{'statement':>16}{'ledger':>16}{'difference':>16}"]
    lines += [_line(row) for row in channel.rows if row.statement or row.ledger or row.name in ("opening", "closing")]
    for account, read in channel.last_readings:
        at = "" if read.read_at is None else f" at {read.read_at.astimezone(clock.ZONE):%H:%M}"
        told = "no statement covers that time" if read.stated is None else f"its statement then: {read.stated:,}"
        lines.append(f"  last reading{' of ' + account if account else ''}{at}: {read.amount:,}; {told}")
    for reason, total in channel.open.items():
        lines.append(f"  open: {money.display(total.amount)}, {total.count:,} {REASONS[reason]}")
    lines += [f"    {in_words(each)}" for each in channel.items[:_MOST_ITEMS]]
    if len(channel.items) > _MOST_ITEMS:
        lines.append("    and more: see the page of the day, or --csv once it is closed")
    return lines


def _line(row: Row) -> str:
    statement = "-" if row.statement is None else f"{row.statement:,}"
    difference = "" if row.difference is None else f"{row.difference:,}"
    return f"  {row.name:<12}{statement:>16}{row.ledger:>16,}{difference:>16}".rstrip()


def balance_lines(close: DayClose) -> list[str]:
    lines = [f"{'balances':<30}{'in the day':>16}{'at its end':>16}"]
    for name, balance in close.balances.items():
        lines.append(f"  {title_of(name):<28}{close.changes.get(name, 0):>16,}{balance:>16,}")
    lines.append(f"  {'trial balance':<44}{close.trial_balance:>16,}")
    lines.append(f"  {'owed by merchants':<44}{close.owed:>16,}")
    return lines
