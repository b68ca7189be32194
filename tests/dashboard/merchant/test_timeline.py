"""The timeline of a payment in words: each row is compared with a grid written by hand, and the rows are in order."""

import dataclasses
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from string import Formatter
from typing import Any

import pytest
from msgspec.structs import replace

from malipo.dashboard.merchant.timeline import BOOKED, HEARD, LATER, STATUSES, TimelineEntry, sentences, timeline
from malipo.ledger.accounts import Account, Move, Step
from malipo.networks.connector import Channel, Verdict
from malipo.payments import correction_moves
from malipo.payments.correction_moves import CorrectionChange
from malipo.payments.dispatch import AnswerSource
from malipo.payments.status_effects import posting_of
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.store.timeline import BookedMove, DeliveryAttempt
from malipo.payments.transaction import Status, Transaction, Type
from tests.dashboard.merchant.timeline_grids import BOOKED_GRID, HEARD_GRID, LATER_GRID, STATUS_GRID
from tests.payments.test_transaction import a_transaction

NOW = datetime(2026, 11, 15, 9, 26, 30, tzinfo=UTC)


def rows_of(grid: str, columns: int) -> list[tuple[str, ...]]:
    return [tuple(line.split(None, columns)) for line in grid.strip().splitlines()]


def said(entry: TimelineEntry) -> str:
    return entry.words.format(**entry.values)


def an_answer(
    act: AnswerSource = AnswerSource.QUERY, verdict: Verdict = Verdict.WAITING, *, at: datetime = NOW, **how: str
) -> StoredAnswer:
    words: dict[str, Any] = {"connector": "mpesa", "code": "", "detail": ""} | how
    return StoredAnswer(
        id="hrg_1", merchant_id="mer_1", transaction_id="txn_1", received_at=at, source=act, verdict=verdict, **words
    )


def booked(step: Step, source: Account, target: Account, *, at: datetime = NOW, after: int | None = None) -> BookedMove:
    channel = Channel.MPESA if Account.FLOAT in (source, target) else None
    return BookedMove(at, step, Move(source, target, 1250, channel), after)


TRY = DeliveryAttempt(
    event="payment.completed",
    event_id="evt_1",
    endpoint_id="wh_1",
    url="https://duka.example/hooks/malipo?a=1",
    state="DELIVERED",
    due_at=NOW,
    attempted_at=NOW,
    duration_ms=31,
    http_status=200,
    error=None,
)


def whole(type_: Type = Type.COLLECTION, status: Status = Status.COMPLETED) -> Transaction:
    """Its statuses a second apart, the last at NOW."""
    times = {
        "created_at": NOW - timedelta(seconds=2),
        "processing_at": None if status in (Status.PENDING, Status.CANCELLED) else NOW - timedelta(seconds=1),
        "ended_at": NOW if status.is_final else None,
    }
    return replace(a_transaction(type_, status), **times)


@pytest.mark.parametrize(("type_", "status", "tone", "words"), rows_of(STATUS_GRID, 3))
def test_a_status_is_shown_in_plain_words(type_: str, status: str, tone: str, words: str) -> None:
    last = timeline(whole(Type(type_), Status(status)), [], [], [])[-1]
    assert (last.kind, last.tone, said(last)) == ("status", tone, words)


@pytest.mark.parametrize(("act", "verdict", "tone", "words"), rows_of(HEARD_GRID, 3))
def test_an_answer_is_shown_in_plain_words(act: str, verdict: str, tone: str, words: str) -> None:
    [entry] = [
        each
        for each in timeline(whole(), [an_answer(AnswerSource(act), Verdict(verdict))], [], [])
        if each.kind == "network"
    ]
    assert (entry.tone, said(entry)) == (tone, words)


@pytest.mark.parametrize(("step", "source", "target", "tone", "words"), rows_of(BOOKED_GRID, 4))
def test_a_move_is_shown_in_plain_words(step: str, source: str, target: str, tone: str, words: str) -> None:
    move = booked(Step(step), Account(source), Account(target))
    entry, *_ = [each for each in timeline(whole(), [], [move], []) if each.kind == "money"]
    assert (entry.tone, said(entry)) == (tone, words)


def test_the_grids_have_a_line_for_everything_that_can_happen() -> None:
    assert {row[:2] for row in rows_of(STATUS_GRID, 3)} == {(t, s) for t in Type for s in Status} == set(STATUSES)
    assert {row[:2] for row in rows_of(HEARD_GRID, 3)} == {(a, v) for a in AnswerSource for v in Verdict} == set(HEARD)
    assert {row[:3] for row in rows_of(BOOKED_GRID, 4)} == set(BOOKED)
    later = {(Type(type_), says == "paid", due == "due") for type_, _, says, due, _, _ in rows_of(LATER_GRID, 5)}
    assert later == set(LATER)


class Book:
    """What is booked of a payment after its end, as the core books it, a minute apart."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.correction = correction_moves.begin(transaction)
        self.booked: list[BookedMove] = []

    def report(self, *, is_paid: bool) -> "Book":
        return self._book(
            correction_moves.contradict(self.transaction, self.correction, is_paid=is_paid, source=AnswerSource.QUERY)
        )

    def decide(self, *, is_paid: bool, available: int = 1_000_000, is_waived: bool = False) -> "Book":
        decided = correction_moves.decide(
            self.transaction, self.correction, is_paid=is_paid, available=available, is_waived=is_waived
        )
        return self._book(decided)

    def _book(self, change: CorrectionChange) -> "Book":
        self.correction = change.correction
        at = NOW + timedelta(minutes=change.correction.ordinal)
        self.booked += [BookedMove(at, change.step, move, None) for move in change.moves]
        return self

    def shown_moves(self) -> list[tuple[str, str]]:
        entries = timeline(self.transaction, [], self.booked, [])
        return [(each.tone, said(each)) for each in entries if each.kind == "money"]


@pytest.mark.parametrize(("type_", "status", "says", "due", "tone", "words"), rows_of(LATER_GRID, 5))
def test_a_contradiction_of_the_network_is_shown_with_the_owed_amount(
    type_: str, status: str, says: str, due: str, tone: str, words: str
) -> None:
    is_paid = says == "paid"
    book = Book(replace(whole(Type(type_), Status(status)), fee=30))
    if is_paid == (status == "COMPLETED"):
        book.report(is_paid=not is_paid)
        if due == "due":
            book.decide(is_paid=not is_paid)
    before = len(book.shown_moves())
    shown = book.report(is_paid=is_paid).shown_moves()
    assert shown[before] == (tone, words)


def test_a_debt_is_shown_from_its_beginning_to_its_end() -> None:
    book = Book(replace(whole(Type.DISBURSEMENT, Status.FAILED), fee=30))
    book.report(is_paid=True).decide(is_paid=True, available=400).decide(is_paid=True, is_waived=True)
    assert [words for _, words in book.shown_moves()] == [
        "M-Pesa now says that it was paid: TZS 1,030 is owed.",
        "Cleared up: TZS 400 taken from the wallet.",
        "TZS 630 is still owed.",
        "TZS 630 comes from the service, and not from your wallet.",
        "The fee is booked: TZS 30.",
    ]


def test_what_is_credited_in_the_moment_of_the_news_stands_after_it() -> None:
    book = Book(replace(whole(Type.COLLECTION, Status.FAILED), fee=30)).report(is_paid=True).decide(is_paid=True)
    book.booked = [dataclasses.replace(each, created_at=NOW) for each in book.booked]
    assert [words for _, words in book.shown_moves()] == [
        "M-Pesa now says that the customer has paid: TZS 970 belongs in your wallet.",
        "Cleared up: TZS 970 added to the wallet.",
        "The fee is booked: TZS 30.",
    ]


@pytest.mark.parametrize("type_", Type)
@pytest.mark.parametrize("status", [status for status in Status if status.is_final])
def test_there_are_words_for_every_move_that_a_payment_can_make(type_: Type, status: Status) -> None:
    """Every way of hearing and deciding four times, whatever the wallet holds."""
    paths: list[Book] = [Book(replace(whole(type_, status), fee=30))]
    for _ in range(4):
        paths += [each for path in paths for each in _steps(path)]
    made = {(each.step, each.move.source, each.move.target) for path in paths for each in path.booked}
    floats = {
        (Step.CONTRADICTION, *ends) for ends in ((Account.FLOAT, Account.SUSPENSE), (Account.SUSPENSE, Account.FLOAT))
    }
    assert made - floats <= set(BOOKED)
    for path in paths:
        assert path.shown_moves() or not path.booked
    assert {posting.step for each in Status if (posting := posting_of(a_transaction(type_, each, fee=30)))} <= {
        step for step, _, _ in BOOKED
    }


def _steps(path: Book) -> Iterator[Book]:
    def onwards() -> Book:
        following = Book(path.transaction)
        following.correction, following.booked = path.correction, [*path.booked]
        return following

    yield onwards().report(is_paid=not path.correction.is_paid)
    for is_paid, available in itertools.product((True, False), (0, 400, 1_000_000)):
        yield onwards().decide(is_paid=is_paid, available=available)
    if path.correction.owed:
        yield onwards().decide(is_paid=path.correction.is_paid, is_waived=True)


def test_the_wallet_after_a_move_is_shown_with_it() -> None:
    move = booked(Step.END, Account.FLOAT, Account.WALLET, after=88_000)
    [entry] = [each for each in timeline(whole(), [], [move], []) if each.kind == "money"]
    assert entry.detail.format(**entry.detail_values) == "The wallet then held TZS 88,000."


def test_a_failure_says_why_in_words_and_its_code_in_small_print() -> None:
    failed = replace(whole(status=Status.FAILED), failure_reason="The customer did not answer in time.")
    last = timeline(replace(failed, failure_code="expired"), [], [], [])[-1]
    assert (last.detail, last.small_print) == ("The customer did not answer in time.", "expired")


def test_a_networks_own_words_are_small_print() -> None:
    [_, _, entry, _] = timeline(whole(), [an_answer(code="TIP", detail="In process")], [], [])
    assert entry.small_print == "mpesa · TIP · In process"
    assert "TIP" not in said(entry)


@pytest.mark.parametrize(
    ("changes", "tone", "words", "small"),
    [
        ({}, "good", "Your server duka.example was told: payment.completed.", "HTTP 200 · 31 ms"),
        ({"http_status": 204}, "good", "Your server duka.example was told: payment.completed.", "HTTP 204 · 31 ms"),
        (
            {"http_status": 500},
            "bad",
            "Your server duka.example could not be told: payment.completed.",
            "HTTP 500 · 31 ms",
        ),
        (
            {"http_status": 302},
            "bad",
            "Your server duka.example could not be told: payment.completed.",
            "HTTP 302 · 31 ms",
        ),
        (
            {"http_status": None, "error": "connection refused"},
            "bad",
            "Your server duka.example could not be told: payment.completed.",
            "connection refused · 31 ms",
        ),
        (
            {"http_status": 200, "error": "the answer broke off"},
            "bad",
            "Your server duka.example could not be told: payment.completed.",
            "the answer broke off · 31 ms",
        ),
    ],
)
def test_an_attempt_at_a_server_is_shown_with_its_answer(
    changes: dict[str, Any], tone: str, words: str, small: str
) -> None:
    [entry] = [
        each for each in timeline(whole(), [], [], [dataclasses.replace(TRY, **changes)]) if each.kind == "webhook"
    ]
    assert (entry.tone, said(entry), entry.small_print) == (tone, words, small)


def test_a_delivery_that_is_not_done_says_when_it_is_tried_next() -> None:
    later = NOW + timedelta(minutes=5)
    tries = [
        dataclasses.replace(
            TRY, state="PENDING", due_at=later, http_status=500, attempted_at=NOW + timedelta(seconds=n)
        )
        for n in (1, 2)
    ]
    shown = [each for each in timeline(whole(), [], [], tries) if each.kind == "webhook"]
    assert [each.tone for each in shown] == ["bad", "bad", "wait"]
    assert (shown[-1].at, said(shown[-1])) == (later, "Your server duka.example will be told: payment.completed.")


def test_a_delivery_that_was_never_tried_is_only_announced() -> None:
    untried = dataclasses.replace(TRY, state="PENDING", attempted_at=None, duration_ms=None, http_status=None)
    [entry] = [each for each in timeline(whole(), [], [], [untried]) if each.kind == "webhook"]
    assert said(entry) == "Your server duka.example will be told: payment.completed."


def test_a_delivery_that_was_given_up_says_so_after_its_last_try() -> None:
    shown = [
        each
        for each in timeline(whole(), [], [], [dataclasses.replace(TRY, state="EXHAUSTED", http_status=500)])
        if each.kind == "webhook"
    ]
    assert [said(each) for each in shown] == [
        "Your server duka.example could not be told: payment.completed.",
        "payment.completed was not delivered to your server duka.example, and is not tried again by itself. You can send it again.",
    ]


def test_what_happens_in_one_moment_stands_in_the_order_of_cause_and_effect() -> None:
    reply = an_answer(AnswerSource.SEND, Verdict.CONFIRMED)
    money = booked(Step.END, Account.FLOAT, Account.WALLET)
    kinds = [each.kind for each in timeline(whole(), [reply], [money], [TRY])]
    assert kinds == ["status", "status", "network", "status", "money", "webhook"]


def test_a_reply_in_the_millisecond_of_its_sending_stands_after_it() -> None:
    sent = whole(status=Status.PROCESSING)
    assert sent.processing_at is not None
    entries = timeline(sent, [an_answer(AnswerSource.SEND, at=sent.processing_at)], [], [])
    assert [each.kind for each in entries] == ["status", "status", "network"]


def test_the_oldest_comes_first_whatever_it_is() -> None:
    early = an_answer(AnswerSource.QUERY, Verdict.UNKNOWN, at=NOW - timedelta(milliseconds=500))
    late = booked(Step.CONTRADICTION, Account.FLOAT, Account.SUSPENSE, at=NOW + timedelta(hours=1))
    entries = timeline(whole(), [early], [late], [dataclasses.replace(TRY, attempted_at=NOW + timedelta(seconds=3))])
    assert [each.at for each in entries] == sorted(each.at for each in entries)
    assert [each.kind for each in entries] == ["status", "status", "network", "status", "webhook", "money"]


def test_the_same_answer_again_and_again_is_one_entry_with_its_number() -> None:
    asked = [an_answer(at=NOW - timedelta(milliseconds=900 - n)) for n in range(40)]
    entries = timeline(whole(), [*asked, an_answer(AnswerSource.QUERY, Verdict.CONFIRMED)], [], [])
    waited, confirmed = (each for each in entries if each.kind == "network")
    assert (waited.times, waited.at, waited.until) == (40, asked[0].received_at, asked[-1].received_at)
    assert (confirmed.times, confirmed.until) == (1, None)


def test_answers_that_differ_in_anything_stay_apart() -> None:
    answers = [
        an_answer(code="1"),
        an_answer(code="2"),
        an_answer(AnswerSource.CALLBACK, code="2"),
        an_answer(code="2", detail="x"),
    ]
    assert [each.times for each in timeline(whole(), answers, [], []) if each.kind == "network"] == [1, 1, 1, 1]


def test_every_sentence_gets_the_values_that_it_names() -> None:
    known = {"network", "amount", "host", "event"}
    for words in sentences():
        assert {name for _, name, _, _ in Formatter().parse(words) if name is not None} <= known
