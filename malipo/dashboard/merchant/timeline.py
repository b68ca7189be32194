"""The timeline of a payment: everything that happened to it, in order, as sentences. Pure.

Tables map rows to entries. An entry holds its sentence in English with its values beside it; the template translates
it. Text of a network or a receiver is small print, and never translated.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import chain, groupby
from urllib.parse import urlsplit

from msgspec.structs import replace

from malipo import money
from malipo.ledger.accounts import Account, Move, Step
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Verdict
from malipo.payments import correction_moves
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import AnswerSource
from malipo.payments.failure_reasons import DETAILED_REASONS, FAILURE_REASONS
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.store.timeline import BookedMove, DeliveryAttempt
from malipo.payments.transaction import Status, Transaction, Type


class TimelineKind(StrEnum):
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
class TimelineEntry:
    at: datetime
    kind: TimelineKind
    tone: Tone
    words: str
    values: Mapping[str, str]
    detail: str = ""  # a second sentence, in the reader's language too
    detail_values: Mapping[str, str] = field(default_factory=dict)
    small_print: str = ""
    times: int = 1  # how often the same answer came in a row
    until: datetime | None = None  # when it last came, if more than once


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

# The words for a refund, which is a payout with words of its own.
REFUND_STATUSES: dict[Status, tuple[Tone, str]] = {
    Status.PENDING: (Tone.CALM, "Taken in. It waits to be sent to {network}."),
    Status.PROCESSING: (Tone.WAIT, "On its way: {network} is told to pay the customer back."),
    Status.COMPLETED: (Tone.GOOD, "Completed. The customer has the money back."),
    Status.FAILED: (Tone.BAD, "Failed. The customer did not get the money back."),
    Status.CANCELLED: (Tone.CALM, "Cancelled. Nothing was sent to {network}."),
}
# The words for a refund on its collection's timeline. While one is under way, its beginning is shown.
REFUNDS: dict[Status, tuple[Tone, str]] = {
    Status.PENDING: (Tone.WAIT, "A refund of {amount} was made. It goes to the customer's number."),
    Status.COMPLETED: (Tone.CALM, "{amount} refunded. The customer has it back."),
    Status.FAILED: (Tone.BAD, "The refund of {amount} failed. The customer did not get it."),
    Status.CANCELLED: (Tone.CALM, "The refund of {amount} was cancelled. Nothing was sent."),
}

HEARD: dict[tuple[AnswerSource, Verdict], tuple[Tone, str]] = {
    (AnswerSource.SEND, Verdict.CONFIRMED): (Tone.GOOD, "{network} answered: the money has moved."),
    (AnswerSource.SEND, Verdict.REFUSED): (Tone.BAD, "{network} answered: it refuses this payment."),
    (AnswerSource.SEND, Verdict.WAITING): (Tone.WAIT, "{network} has taken it, and has not decided yet."),
    (AnswerSource.SEND, Verdict.UNKNOWN): (Tone.WAIT, "No clear answer from {network}. We assume nothing, and ask."),
    (AnswerSource.SEND, Verdict.MISSING): (Tone.WAIT, "No clear answer from {network}. We assume nothing, and ask."),
    (AnswerSource.SEND, Verdict.NOT_INDEXED): (
        Tone.WAIT,
        "No clear answer from {network}. We assume nothing, and ask.",
    ),
    (AnswerSource.SEND, Verdict.UNSENT): (Tone.WAIT, "{network} could not be reached. Nothing was sent; we try again."),
    (AnswerSource.QUERY, Verdict.CONFIRMED): (Tone.GOOD, "We asked {network}: the money has moved."),
    (AnswerSource.QUERY, Verdict.REFUSED): (Tone.BAD, "We asked {network}: no money has moved, and none will."),
    (AnswerSource.QUERY, Verdict.WAITING): (Tone.WAIT, "We asked {network}: it has not decided yet."),
    (AnswerSource.QUERY, Verdict.UNKNOWN): (Tone.WAIT, "We asked {network}, and got no clear answer. We ask again."),
    (AnswerSource.QUERY, Verdict.MISSING): (Tone.WAIT, "We asked {network}: it does not know this payment."),
    (AnswerSource.QUERY, Verdict.NOT_INDEXED): (
        Tone.WAIT,
        "We asked {network}: it does not find this payment, or not yet.",
    ),
    (AnswerSource.QUERY, Verdict.UNSENT): (Tone.WAIT, "We asked {network}, and got no clear answer. We ask again."),
    (AnswerSource.CALLBACK, Verdict.CONFIRMED): (Tone.GOOD, "{network} reported: the money has moved."),
    (AnswerSource.CALLBACK, Verdict.REFUSED): (Tone.BAD, "{network} reported: no money has moved."),
    (AnswerSource.CALLBACK, Verdict.WAITING): (Tone.WAIT, "{network} reported: it has not decided yet."),
    (AnswerSource.CALLBACK, Verdict.UNKNOWN): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.CALLBACK, Verdict.MISSING): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.CALLBACK, Verdict.NOT_INDEXED): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.CALLBACK, Verdict.UNSENT): (Tone.WAIT, "{network} reported something unclear."),
    # A line is there or not: the first two are all that a statement can say.
    (AnswerSource.STATEMENT, Verdict.CONFIRMED): (Tone.GOOD, "The statement of {network} has it: the money has moved."),
    (AnswerSource.STATEMENT, Verdict.REFUSED): (Tone.BAD, "The statement of {network} shows that it was taken back."),
    (AnswerSource.STATEMENT, Verdict.WAITING): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.STATEMENT, Verdict.UNKNOWN): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.STATEMENT, Verdict.MISSING): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.STATEMENT, Verdict.NOT_INDEXED): (Tone.WAIT, "{network} reported something unclear."),
    (AnswerSource.STATEMENT, Verdict.UNSENT): (Tone.WAIT, "{network} reported something unclear."),
}

# The sentences for a report, by the network or its statement, that contradicts the earlier outcome: by type, by whether
# the report says paid, and by whether it changes the wallet.
LATER: dict[tuple[Type, bool, bool], tuple[Tone, str]] = {
    (Type.COLLECTION, True, True): (
        Tone.GOOD,
        "{network} now says that the customer has paid: {amount} belongs in your wallet.",
    ),
    (Type.COLLECTION, True, False): (
        Tone.GOOD,
        "{network} now says that the customer has paid after all. Your wallet is right as it is.",
    ),
    (Type.COLLECTION, False, True): (
        Tone.BAD,
        "{network} now says that the customer did not pay, or got it back: {amount} is owed.",
    ),
    (Type.COLLECTION, False, False): (
        Tone.CALM,
        "{network} now says that the customer did not pay after all. Your wallet is right as it is.",
    ),
    (Type.DISBURSEMENT, True, True): (Tone.BAD, "{network} now says that it was paid: {amount} is owed."),
    (Type.DISBURSEMENT, True, False): (
        Tone.CALM,
        "{network} now says that it was paid after all. Your wallet is right as it is.",
    ),
    (Type.DISBURSEMENT, False, True): (
        Tone.GOOD,
        "{network} now says that it was not paid: {amount} belongs in your wallet.",
    ),
    (Type.DISBURSEMENT, False, False): (
        Tone.CALM,
        "{network} now says that it was not paid after all. Your wallet is right as it is.",
    ),
}

_STAYS = "Cleared up: it stays as it was, and your wallet too."
_FROM_THE_HOUSE = (Tone.CALM, "{amount} comes from the service, and not from your wallet.")
_TO_THE_HOUSE = (Tone.CALM, "{amount} goes to the service, and not to your wallet.")
_FEE_TAKEN = (Tone.CALM, "The fee is booked: {amount}.")
_FEE_RETURNED = (Tone.CALM, "The fee is taken back: {amount}.")
BOOKED: dict[tuple[Step, Account, Account], tuple[Tone, str]] = {
    (Step.OPEN, Account.WALLET, Account.IN_FLIGHT): (Tone.CALM, "{amount} set aside in the wallet for this payout."),
    (Step.END, Account.IN_FLIGHT, Account.FLOAT): (Tone.CALM, "{amount} paid out through {network}."),
    (Step.END, Account.IN_FLIGHT, Account.FEES): (Tone.CALM, "{amount} charged as the fee."),
    (Step.END, Account.IN_FLIGHT, Account.WALLET): (Tone.CALM, "{amount} given back to the wallet."),
    (Step.END, Account.FLOAT, Account.WALLET): (Tone.GOOD, "{amount} added to the wallet."),
    (Step.END, Account.FLOAT, Account.FEES): (Tone.CALM, "{amount} charged as the fee."),
    (Step.CONTRADICTION, Account.LOSSES, Account.SUSPENSE): _FROM_THE_HOUSE,
    (Step.CONTRADICTION, Account.SUSPENSE, Account.LOSSES): _TO_THE_HOUSE,
    (Step.CONTRADICTION, Account.SUSPENSE, Account.FEES): _FEE_TAKEN,
    (Step.CONTRADICTION, Account.FEES, Account.SUSPENSE): _FEE_RETURNED,
    (Step.RESOLUTION, Account.SUSPENSE, Account.WALLET): (Tone.GOOD, "Cleared up: {amount} added to the wallet."),
    (Step.RESOLUTION, Account.WALLET, Account.SUSPENSE): (Tone.BAD, "Cleared up: {amount} taken from the wallet."),
    (Step.RESOLUTION, Account.LOSSES, Account.SUSPENSE): _FROM_THE_HOUSE,
    (Step.RESOLUTION, Account.SUSPENSE, Account.LOSSES): _TO_THE_HOUSE,
    (Step.RESOLUTION, Account.SUSPENSE, Account.FEES): _FEE_TAKEN,
    (Step.RESOLUTION, Account.FEES, Account.SUSPENSE): _FEE_RETURNED,
    # Only in old books, when a contradiction moved the wallet at once: a resolution gave that back.
    (Step.RESOLUTION, Account.SUSPENSE, Account.FLOAT): (Tone.CALM, _STAYS),
    (Step.RESOLUTION, Account.FLOAT, Account.SUSPENSE): (Tone.CALM, _STAYS),
}
_STILL_OWED = "{amount} is still owed."
_WALLET_AFTER = "The wallet then held {amount}."

_TAKEN = "Your server {host} was told: {event}."
_NOT_TAKEN = "Your server {host} could not be told: {event}."
_NEXT = "Your server {host} will be told: {event}."
_NOT_DELIVERED = (
    "{event} was not delivered to your server {host}, and is not tried again by itself. You can send it again."
)

# Of events in the same moment the cause comes first: we send, the network answers, the payment ends, money moves,
# and its event is sent to the merchant's servers.
_RANKS = {TimelineKind.NETWORK: 1, TimelineKind.STATUS: 2, TimelineKind.MONEY: 3, TimelineKind.WEBHOOK: 4}


def timeline(
    transaction: Transaction,
    answers: Sequence[StoredAnswer],
    booked: Sequence[BookedMove],
    attempts: Sequence[DeliveryAttempt],
    refunds: Sequence[Transaction] = (),
) -> list[TimelineEntry]:
    """The oldest first."""
    network = PROFILES[transaction.channel].name
    entries = chain(
        _statuses(transaction, network),
        _refunds(refunds),
        _answers(answers, network),
        _booked(transaction, booked, network),
        _tries(attempts),
        _ends(attempts),
    )
    ordered = sorted(entries, key=lambda entry: (entry.at, _rank(entry, transaction)))
    return _folded(ordered)


def sentences() -> set[str]:
    """Every sentence that an entry may hold, for the test of translations."""
    statuses = chain(
        STATUSES.values(), REFUND_STATUSES.values(), REFUNDS.values(), HEARD.values(), BOOKED.values(), LATER.values()
    )
    others = {_WALLET_AFTER, _STILL_OWED, _TAKEN, _NOT_TAKEN, _NEXT, _NOT_DELIVERED}
    return {words for _, words in statuses} | others | {*FAILURE_REASONS.values(), *DETAILED_REASONS.values()}


def _rank(entry: TimelineEntry, transaction: Transaction) -> int:
    is_end = entry.at == transaction.ended_at
    return 0 if entry.kind is TimelineKind.STATUS and not is_end else _RANKS[entry.kind]


def _statuses(transaction: Transaction, network: str) -> Iterator[TimelineEntry]:
    for status, at in transaction.status_log():
        tone, words = STATUSES[transaction.type, status] if transaction.refund_of is None else REFUND_STATUSES[status]
        is_failure = status is Status.FAILED
        yield TimelineEntry(
            at,
            TimelineKind.STATUS,
            tone,
            words,
            {"network": network},
            detail=transaction.failure_reason or "" if is_failure else "",
            small_print=transaction.failure_code or "" if is_failure else "",
        )


def _refunds(refunds: Sequence[Transaction]) -> Iterator[TimelineEntry]:
    for refund in refunds:
        values = {"amount": money.display(refund.amount)}
        yield TimelineEntry(refund.created_at, TimelineKind.MONEY, *REFUNDS[Status.PENDING], values)
        if refund.ended_at is not None:
            yield TimelineEntry(refund.ended_at, TimelineKind.MONEY, *REFUNDS[refund.status], values)


def _answers(answers: Sequence[StoredAnswer], network: str) -> Iterator[TimelineEntry]:
    for each in answers:
        tone, words = HEARD[each.source, Verdict(each.verdict)]
        small_print = " · ".join(part for part in (each.connector, each.code, each.detail) if part)
        yield TimelineEntry(
            each.received_at, TimelineKind.NETWORK, tone, words, {"network": network}, small_print=small_print
        )


def _booked(transaction: Transaction, booked: Sequence[BookedMove], network: str) -> Iterator[TimelineEntry]:
    """Compute the debt after a step from all moves up to it; moves are kept for ever."""
    state = correction_moves.begin(transaction)
    for _, step in groupby(booked, key=lambda each: (each.created_at, each.step)):
        moves = list(step)
        for each in moves:
            state = _after(transaction, state, each.move)
        due = correction_moves.due(transaction, state)
        for each in moves:
            yield _moved(transaction, each, network, state, due)
        if moves[0].step is Step.RESOLUTION and due < 0:
            owed = {"amount": money.display(-due), "network": network}
            yield TimelineEntry(moves[0].created_at, TimelineKind.MONEY, Tone.BAD, _STILL_OWED, owed)


def _after(transaction: Transaction, state: Correction, move: Move) -> Correction:
    """The correction after one more move. What happened before the end is not a correction."""
    if Account.SUSPENSE not in (move.source, move.target):
        return state
    gets = -move.change_of(Account.SUSPENSE)
    match move.target if move.source is Account.SUSPENSE else move.source:
        case Account.FLOAT:
            return replace(state, is_paid=(gets < 0) == (transaction.type is Type.COLLECTION))
        case Account.WALLET:
            return replace(state, credited=state.credited + gets)
        case Account.LOSSES:
            return replace(state, borne=state.borne + gets)
    return state


def _moved(transaction: Transaction, each: BookedMove, network: str, state: Correction, due: int) -> TimelineEntry:
    amount = each.move.amount
    if each.step is Step.CONTRADICTION and Account.FLOAT in (each.move.source, each.move.target):
        tone, words = LATER[transaction.type, state.is_paid, due != 0]
        amount = abs(due)
    else:
        tone, words = BOOKED[each.step, each.move.source, each.move.target]
    entry = TimelineEntry(
        each.created_at, TimelineKind.MONEY, tone, words, {"amount": money.display(amount), "network": network}
    )
    if each.balance_after is None:
        return entry
    return dataclasses.replace(entry, detail=_WALLET_AFTER, detail_values={"amount": money.display(each.balance_after)})


def _tries(attempts: Sequence[DeliveryAttempt]) -> Iterator[TimelineEntry]:
    for each in attempts:
        if each.attempted_at is None:
            continue
        is_taken = each.error is None and each.http_status is not None and 200 <= each.http_status < 300
        answer = each.error or f"HTTP {each.http_status}"
        yield TimelineEntry(
            each.attempted_at,
            TimelineKind.WEBHOOK,
            Tone.GOOD if is_taken else Tone.BAD,
            _TAKEN if is_taken else _NOT_TAKEN,
            _receiver(each),
            small_print=f"{answer} · {each.duration_ms} ms",
        )


def _ends(attempts: Sequence[DeliveryAttempt]) -> Iterator[TimelineEntry]:
    """The next step of each delivery, or that there is none."""
    for each in {(each.endpoint_id, each.event_id): each for each in attempts}.values():
        if each.state == "PENDING":
            yield TimelineEntry(each.due_at, TimelineKind.WEBHOOK, Tone.WAIT, _NEXT, _receiver(each))
        elif each.state == "EXHAUSTED":
            yield TimelineEntry(
                each.attempted_at or each.due_at, TimelineKind.WEBHOOK, Tone.BAD, _NOT_DELIVERED, _receiver(each)
            )


def _receiver(attempt: DeliveryAttempt) -> dict[str, str]:
    return {"host": urlsplit(attempt.url).netloc, "event": attempt.event}


def _folded(entries: Sequence[TimelineEntry]) -> list[TimelineEntry]:
    """The same answer several times in a row is one entry, with how often and until when."""
    folded: list[TimelineEntry] = []
    for entry in entries:
        last = folded[-1] if folded else None
        if last is not None and entry.kind is TimelineKind.NETWORK and _says(last) == _says(entry):
            folded[-1] = dataclasses.replace(last, times=last.times + 1, until=entry.at)
        else:
            folded.append(entry)
    return folded


def _says(entry: TimelineEntry) -> tuple[TimelineKind, str, str]:
    return entry.kind, entry.words, entry.small_print
