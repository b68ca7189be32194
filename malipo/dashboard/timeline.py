"""Everything that happened to a payment, in order and in plain words. Pure.

Rows become entries by tables. An entry holds its sentence in English with its values beside it; whoever draws it says
it in the reader's language. What a network or a receiver said in its own words is small print, and never translated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain
from urllib.parse import urlsplit

from malipo import money
from malipo.ledger.entry import Account, Step
from malipo.networks.catalog import PROFILES
from malipo.networks.contract import FailureCode, Verdict
from malipo.payments.pursuit import Act
from malipo.payments.settle import reason_of
from malipo.payments.store.browsing import Booked, Told
from malipo.payments.store.hearings import Hearing
from malipo.payments.transaction import Status, Transaction, Type


class Kind(StrEnum):
    STATUS = "status"
    NETWORK = "network"
    MONEY = "money"
    WEBHOOK = "webhook"


class Tone(StrEnum):
    GOOD = "good"
    BAD = "bad"
    WAIT = "wait"
    CALM = "calm"


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    kind: Kind
    tone: Tone
    words: str
    values: Mapping[str, str]
    detail: str = ""  # a second sentence, in the reader's language too
    detail_values: Mapping[str, str] = field(default_factory=dict)
    small_print: str = ""
    times: int = 1  # how often the same was heard in a row
    until: datetime | None = None  # when it was last heard, if more than once


STATUSES: dict[tuple[Type, Status], tuple[Tone, str]] = {
    (Type.COLLECTION, Status.PENDING): (Tone.CALM, "Taken in. It waits to be sent to {network}."),
    (Type.COLLECTION, Status.PROCESSING): (Tone.WAIT, "On its way: {network} asks the customer on their phone."),
    (Type.COLLECTION, Status.COMPLETED): (Tone.GOOD, "Completed. The customer has paid."),
    (Type.COLLECTION, Status.FAILED): (Tone.BAD, "Failed. The customer has not paid."),
    (Type.COLLECTION, Status.CANCELLED): (Tone.CALM, "Cancelled. Nothing was sent, and the customer was not asked."),
    (Type.DISBURSEMENT, Status.PENDING): (Tone.CALM, "Taken in. It waits to be sent to {network}."),
    (Type.DISBURSEMENT, Status.PROCESSING): (Tone.WAIT, "On its way: {network} is told to pay the recipient."),
    (Type.DISBURSEMENT, Status.COMPLETED): (Tone.GOOD, "Completed. The recipient has the money."),
    (Type.DISBURSEMENT, Status.FAILED): (Tone.BAD, "Failed. The recipient was not paid."),
    (Type.DISBURSEMENT, Status.CANCELLED): (Tone.CALM, "Cancelled. Nothing was sent to {network}."),
}

HEARD: dict[tuple[Act, Verdict], tuple[Tone, str]] = {
    (Act.SEND, Verdict.CONFIRMED): (Tone.GOOD, "{network} answered: the money has moved."),
    (Act.SEND, Verdict.REFUSED): (Tone.BAD, "{network} answered: it refuses this payment."),
    (Act.SEND, Verdict.WAITING): (Tone.WAIT, "{network} has taken it, and has not decided yet."),
    (Act.SEND, Verdict.UNKNOWN): (Tone.WAIT, "No clear answer from {network}. We assume nothing, and ask."),
    (Act.SEND, Verdict.MISSING): (Tone.WAIT, "No clear answer from {network}. We assume nothing, and ask."),
    (Act.SEND, Verdict.UNSENT): (Tone.WAIT, "{network} could not be reached. Nothing was sent; we try again."),
    (Act.ASK, Verdict.CONFIRMED): (Tone.GOOD, "We asked {network}: the money has moved."),
    (Act.ASK, Verdict.REFUSED): (Tone.BAD, "We asked {network}: no money has moved, and none will."),
    (Act.ASK, Verdict.WAITING): (Tone.WAIT, "We asked {network}: it has not decided yet."),
    (Act.ASK, Verdict.UNKNOWN): (Tone.WAIT, "We asked {network}, and got no clear answer. We ask again."),
    (Act.ASK, Verdict.MISSING): (Tone.WAIT, "We asked {network}: it does not know this payment."),
    (Act.ASK, Verdict.UNSENT): (Tone.WAIT, "We asked {network}, and got no clear answer. We ask again."),
    (Act.CALLBACK, Verdict.CONFIRMED): (Tone.GOOD, "{network} reported: the money has moved."),
    (Act.CALLBACK, Verdict.REFUSED): (Tone.BAD, "{network} reported: no money has moved."),
    (Act.CALLBACK, Verdict.WAITING): (Tone.WAIT, "{network} reported: it has not decided yet."),
    (Act.CALLBACK, Verdict.UNKNOWN): (Tone.WAIT, "{network} reported something unclear."),
    (Act.CALLBACK, Verdict.MISSING): (Tone.WAIT, "{network} reported something unclear."),
    (Act.CALLBACK, Verdict.UNSENT): (Tone.WAIT, "{network} reported something unclear."),
}

_IN_DOUBT = (
    "{network} now says the opposite about {amount}. Your wallet stays as it is until an operator has found out."
)
_STAYS = "Cleared up: it stays as it was, and your wallet too."
BOOKED: dict[tuple[Step, Account, Account], tuple[Tone, str]] = {
    (Step.OPEN, Account.WALLET, Account.IN_FLIGHT): (Tone.CALM, "{amount} set aside in the wallet for this payout."),
    (Step.END, Account.IN_FLIGHT, Account.FLOAT): (Tone.CALM, "{amount} paid out through {network}."),
    (Step.END, Account.IN_FLIGHT, Account.FEES): (Tone.CALM, "{amount} charged as the fee."),
    (Step.END, Account.IN_FLIGHT, Account.WALLET): (Tone.CALM, "{amount} given back to the wallet."),
    (Step.END, Account.FLOAT, Account.WALLET): (Tone.GOOD, "{amount} added to the wallet."),
    (Step.END, Account.FLOAT, Account.FEES): (Tone.CALM, "{amount} charged as the fee."),
    (Step.CONTRADICTION, Account.FLOAT, Account.SUSPENSE): (Tone.BAD, _IN_DOUBT),
    (Step.CONTRADICTION, Account.SUSPENSE, Account.FLOAT): (Tone.BAD, _IN_DOUBT),
    (Step.RESOLUTION, Account.SUSPENSE, Account.WALLET): (Tone.GOOD, "Cleared up: {amount} added to the wallet."),
    (Step.RESOLUTION, Account.WALLET, Account.SUSPENSE): (Tone.BAD, "Cleared up: {amount} taken from the wallet."),
    (Step.RESOLUTION, Account.SUSPENSE, Account.FEES): (Tone.CALM, "{amount} charged as the fee."),
    (Step.RESOLUTION, Account.FEES, Account.SUSPENSE): (Tone.CALM, "{amount} of the fee given back."),
    (Step.RESOLUTION, Account.SUSPENSE, Account.FLOAT): (Tone.CALM, _STAYS),
    (Step.RESOLUTION, Account.FLOAT, Account.SUSPENSE): (Tone.CALM, _STAYS),
}
_WALLET_AFTER = "The wallet then held {amount}."

_TAKEN = "Your server {host} was told: {event}."
_NOT_TAKEN = "Your server {host} could not be told: {event}."
_NEXT = "Your server {host} will be told: {event}."
_GIVEN_UP = "Your server {host} did not take {event}. We have given up; it can be sent again."

# Of what happens in the same moment, the cause comes first: we send, the network speaks, the payment ends, money moves,
# and the merchant's servers are told.
_RANKS = {Kind.NETWORK: 1, Kind.STATUS: 2, Kind.MONEY: 3, Kind.WEBHOOK: 4}


def timeline(
    transaction: Transaction, heard: Sequence[Hearing], booked: Sequence[Booked], told: Sequence[Told]
) -> list[Entry]:
    """The oldest first."""
    network = PROFILES[transaction.channel].name
    entries = chain(
        _statuses(transaction, network), _heard(heard, network), _booked(booked, network), _tries(told), _ends(told)
    )
    ordered = sorted(entries, key=lambda entry: (entry.at, _rank(entry, transaction)))
    return _folded(ordered)


def sentences() -> set[str]:
    """Every sentence that an entry may hold, so that none goes untranslated."""
    said = chain(STATUSES.values(), HEARD.values(), BOOKED.values())
    others = {_WALLET_AFTER, _TAKEN, _NOT_TAKEN, _NEXT, _GIVEN_UP}
    return {words for _, words in said} | others | {reason_of(code) for code in FailureCode}


def _rank(entry: Entry, transaction: Transaction) -> int:
    is_end = entry.at == transaction.ended_at
    return 0 if entry.kind is Kind.STATUS and not is_end else _RANKS[entry.kind]


def _statuses(transaction: Transaction, network: str) -> Iterator[Entry]:
    for status, at in transaction.status_log():
        tone, words = STATUSES[transaction.type, status]
        is_failure = status is Status.FAILED
        yield Entry(
            at,
            Kind.STATUS,
            tone,
            words,
            {"network": network},
            detail=transaction.failure_reason or "" if is_failure else "",
            small_print=transaction.failure_code or "" if is_failure else "",
        )


def _heard(heard: Sequence[Hearing], network: str) -> Iterator[Entry]:
    for each in heard:
        tone, words = HEARD[each.act, Verdict(each.verdict)]
        small_print = " · ".join(part for part in (each.route, each.code, each.detail) if part)
        yield Entry(each.at, Kind.NETWORK, tone, words, {"network": network}, small_print=small_print)


def _booked(booked: Sequence[Booked], network: str) -> Iterator[Entry]:
    for each in booked:
        tone, words = BOOKED[each.step, each.move.source, each.move.target]
        values = {"amount": money.display(each.move.amount), "network": network}
        entry = Entry(each.at, Kind.MONEY, tone, words, values)
        if each.wallet_after is not None:
            after = {"amount": money.display(each.wallet_after)}
            entry = replace(entry, detail=_WALLET_AFTER, detail_values=after)
        yield entry


def _tries(told: Sequence[Told]) -> Iterator[Entry]:
    for each in told:
        if each.at is None:
            continue
        is_taken = each.error is None and each.status is not None and 200 <= each.status < 300
        answer = each.error or f"HTTP {each.status}"
        yield Entry(
            each.at,
            Kind.WEBHOOK,
            Tone.GOOD if is_taken else Tone.BAD,
            _TAKEN if is_taken else _NOT_TAKEN,
            _receiver(each),
            small_print=f"{answer} · {each.took_ms} ms",
        )


def _ends(told: Sequence[Told]) -> Iterator[Entry]:
    """What is still to come of each delivery, or that nothing is."""
    for each in {(each.endpoint_id, each.event_id): each for each in told}.values():
        if each.state == "PENDING":
            yield Entry(each.due_at, Kind.WEBHOOK, Tone.WAIT, _NEXT, _receiver(each))
        elif each.state == "EXHAUSTED":
            yield Entry(each.at or each.due_at, Kind.WEBHOOK, Tone.BAD, _GIVEN_UP, _receiver(each))


def _receiver(told: Told) -> dict[str, str]:
    return {"host": urlsplit(told.url).netloc, "event": told.event}


def _folded(entries: Sequence[Entry]) -> list[Entry]:
    """A network that says the same again and again is heard once, with how often and until when."""
    folded: list[Entry] = []
    for entry in entries:
        last = folded[-1] if folded else None
        if last is not None and entry.kind is Kind.NETWORK and _says(last) == _says(entry):
            folded[-1] = replace(last, times=last.times + 1, until=entry.at)
        else:
            folded.append(entry)
    return folded


def _says(entry: Entry) -> tuple[Kind, str, str]:
    return entry.kind, entry.words, entry.small_print
