"""Where a day does not add up, in shillings, in sentences. Pure."""

from malipo import money
from malipo.reconciliation.close.day_close import ChangeKind, ChannelClose, DayClose, Item, Reason

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
