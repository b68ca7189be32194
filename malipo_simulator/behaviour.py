"""Test numbers: what a phone does, by the last three digits of its number. One table for every network.

It says what happens, not how a network reports it. The page, the docs and the tests are compared with it.
"""

from dataclasses import dataclass
from enum import StrEnum


class PaymentKind(StrEnum):
    COLLECTION = "collection"  # The subscriber pays.
    DISBURSEMENT = "disbursement"  # The subscriber is paid.


class Outcome(StrEnum):
    SUCCESS = "success"
    DECLINED = "declined"
    BALANCE_TOO_LOW = "balance too low"
    EXPIRED = "expired"
    NOT_REGISTERED = "not registered"
    FLOAT_TOO_LOW = "merchant float too low"
    FAILED = "failed"
    REVERSED = "reversed"  # It was a success, and the money has gone back.


class ReplyTiming(StrEnum):
    """What happens to the reply to the request itself."""

    AT_ONCE = "at once"
    WHEN_DECIDED = "when decided"
    AFTER_CALLBACK = "after the callback"
    LOST = "lost"
    HTML_500 = "HTTP 500"  # and nothing is done


@dataclass(frozen=True, slots=True)
class PaymentPlan:
    words: str
    outcome: Outcome | None = Outcome.SUCCESS  # None: it never ends.
    after_seconds: float = 0
    answering: ReplyTiming = ReplyTiming.AT_ONCE
    callbacks: int = 1
    # Where the reply itself is final, a network sends no callback, but for these.
    is_told_beside_reply: bool = False
    queries_not_found: int = 0
    # The money moves after all, so many seconds after the failure was reported.
    recovers_seconds: float | None = None
    is_recovery_told: bool = True
    # The money goes back, so many seconds after it has moved.
    reverses_seconds: float | None = None

    def follows(self, outcome: Outcome | None) -> tuple[Outcome, float] | None:
        """What this outcome turns into by itself, and after how many seconds; None if it stays."""
        if self.recovers_seconds is not None and outcome is self.outcome:
            return Outcome.SUCCESS, self.recovers_seconds
        if self.reverses_seconds is not None and outcome is Outcome.SUCCESS:
            return Outcome.REVERSED, self.reverses_seconds
        return None

    @property
    def is_prompted(self) -> bool:
        """Whether the phone of a collection shows anything."""
        return self.outcome is not None and self.answering is not ReplyTiming.HTML_500

    @property
    def when_approved(self) -> Outcome:
        """What an approval comes to, if the balance is enough."""
        is_ours = self.outcome in (Outcome.BALANCE_TOO_LOW, Outcome.FAILED)
        return self.outcome if is_ours and self.outcome else Outcome.SUCCESS


@dataclass(frozen=True, slots=True)
class PhoneBehaviour:
    digits: str
    collection: PaymentPlan
    disbursement: PaymentPlan


PROMPT_SECONDS = 30
WAITING_SECONDS = 120  # Somebody has to find the phone first.
_PERSON_SECONDS = 2  # How long a subscriber who needs no person takes to answer.
_RECOVERY_SECONDS = 4
_REVERSAL_SECONDS = 4

ANY_OTHER = "any other"


def _person(words: str, outcome: Outcome = Outcome.SUCCESS, **more: object) -> PaymentPlan:
    return PaymentPlan(words, outcome, _PERSON_SECONDS, **more)  # type: ignore[arg-type]


TABLE = (
    PhoneBehaviour(ANY_OTHER, _person("approved after 2 s"), PaymentPlan("paid")),
    PhoneBehaviour(
        "100",
        PaymentPlan("waits for a person at the phone", Outcome.EXPIRED, WAITING_SECONDS),
        PaymentPlan("paid after 5 s", after_seconds=5, is_told_beside_reply=True),
    ),
    PhoneBehaviour(
        "101",
        _person("declined", Outcome.DECLINED),
        PaymentPlan("refused: not registered", Outcome.NOT_REGISTERED, callbacks=0),
    ),
    PhoneBehaviour(
        "102",
        _person("balance too low", Outcome.BALANCE_TOO_LOW),
        PaymentPlan("refused: merchant float too low", Outcome.FLOAT_TOO_LOW, callbacks=0),
    ),
    PhoneBehaviour(
        "103",
        PaymentPlan("prompt expires", Outcome.EXPIRED, PROMPT_SECONDS),
        PaymentPlan("paid, slowly (8 s)", after_seconds=8, answering=ReplyTiming.WHEN_DECIDED),
    ),
    PhoneBehaviour(
        "104",
        _person("approved, but our request's reply is lost", answering=ReplyTiming.LOST, is_told_beside_reply=True),
        PaymentPlan("paid, but the reply is lost", answering=ReplyTiming.LOST),
    ),
    PhoneBehaviour(
        "105",
        _person("approved, callback never comes", callbacks=0),
        PaymentPlan("paid, reply lost, only the query knows", answering=ReplyTiming.LOST, callbacks=0),
    ),
    PhoneBehaviour(
        "106",
        _person("approved, callback three times", callbacks=3, is_told_beside_reply=True),
        PaymentPlan("paid, told three times", callbacks=3, is_told_beside_reply=True),
    ),
    PhoneBehaviour(
        "107",
        _person("approved, callback before the reply", answering=ReplyTiming.AFTER_CALLBACK, is_told_beside_reply=True),
        PaymentPlan(
            'as 104, and the first two queries say "not found"',
            answering=ReplyTiming.LOST,
            callbacks=0,
            queries_not_found=2,
        ),
    ),
    PhoneBehaviour(
        "108",
        PaymentPlan("HTTP 500 with a page of HTML, nothing moved", answering=ReplyTiming.HTML_500),
        PaymentPlan("the same", answering=ReplyTiming.HTML_500),
    ),
    PhoneBehaviour(
        "109",
        PaymentPlan("stuck: pending for ever", None),
        PaymentPlan("stuck", None),
    ),
    PhoneBehaviour(
        "110",
        _person(
            "told FAILED, later SUCCESS",
            Outcome.FAILED,
            recovers_seconds=_RECOVERY_SECONDS,
            is_told_beside_reply=True,
        ),
        PaymentPlan(
            "told FAILED, later SUCCESS",
            Outcome.FAILED,
            recovers_seconds=_RECOVERY_SECONDS,
            is_told_beside_reply=True,
        ),
    ),
    PhoneBehaviour(
        "111",
        PaymentPlan(
            "prompt expires, told FAILED, later charged, no word",
            Outcome.EXPIRED,
            PROMPT_SECONDS,
            recovers_seconds=_RECOVERY_SECONDS,
            is_recovery_told=False,
        ),
        PaymentPlan(
            "told FAILED, later paid, no word",
            Outcome.FAILED,
            recovers_seconds=_RECOVERY_SECONDS,
            is_recovery_told=False,
        ),
    ),
    PhoneBehaviour(
        "112",
        _person("told SUCCESS, later taken back (reversed)", reverses_seconds=_REVERSAL_SECONDS),
        PaymentPlan("told SUCCESS, later taken back (reversed)", reverses_seconds=_REVERSAL_SECONDS),
    ),
    PhoneBehaviour(
        "113",
        _person("approved after 2 s"),  # so that its refund can fail
        PaymentPlan("told FAILED", Outcome.FAILED),
    ),
)

_BY_DIGITS = {row.digits: row for row in TABLE}


def row_of(phone: str) -> PhoneBehaviour:
    return _BY_DIGITS.get(phone[-3:]) or TABLE[0]


def plan_of(kind: PaymentKind, phone: str) -> PaymentPlan:
    row = row_of(phone)
    return row.collection if kind is PaymentKind.COLLECTION else row.disbursement
