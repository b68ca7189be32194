"""The words of the networks' tables, and what each of them means for an Answer."""

from dataclasses import dataclass

from malipo.networks.connector import Answer, FailureCode, Verdict


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    failure_code: FailureCode | None = None
    has_alert: bool = False  # looked at only when REFUSED
    refuses_us: bool = False  # the same
    is_fault: bool = False  # looked at by those who know what was said

    def check(self, answer: Answer) -> None:
        assert (answer.verdict, answer.failure_code) == (self.verdict, self.failure_code), answer
        if self.verdict is Verdict.REFUSED:
            assert (answer.alert is not None, answer.refuses_us) == (self.has_alert, self.refuses_us), answer
        if self.verdict in (Verdict.REFUSED, Verdict.CONFIRMED, Verdict.WAITING):
            assert not answer.is_fault, answer
        assert_fit_to_keep(answer)


SUCCESS = Outcome(Verdict.CONFIRMED)
PENDING = Outcome(Verdict.WAITING)
UNKNOWN = Outcome(Verdict.UNKNOWN)
MISSING = Outcome(Verdict.MISSING)
NOT_INDEXED = Outcome(Verdict.NOT_INDEXED)
DECLINED = Outcome(Verdict.REFUSED, FailureCode.DECLINED)
EXPIRED = Outcome(Verdict.REFUSED, FailureCode.EXPIRED)
INSUFFICIENT = Outcome(Verdict.REFUSED, FailureCode.INSUFFICIENT_FUNDS)
FLOAT_SHORT = Outcome(Verdict.REFUSED, FailureCode.INSUFFICIENT_FUNDS, has_alert=True)  # ours
LIMIT = Outcome(Verdict.REFUSED, FailureCode.LIMIT_EXCEEDED)
OUR_LIMIT = Outcome(Verdict.REFUSED, FailureCode.LIMIT_EXCEEDED, has_alert=True)
RECIPIENT = Outcome(Verdict.REFUSED, FailureCode.INVALID_RECIPIENT)
REJECTED = Outcome(Verdict.REFUSED, FailureCode.REJECTED)
FAIL_CFG = Outcome(Verdict.REFUSED, FailureCode.REJECTED, has_alert=True, refuses_us=True)
# It calls the operator, and does not count towards "the network is down": it may be about this customer alone.
AMBIGUOUS = Outcome(Verdict.REFUSED, FailureCode.REJECTED, has_alert=True)
AMBIGUOUS_RECIPIENT = Outcome(Verdict.REFUSED, FailureCode.INVALID_RECIPIENT, has_alert=True)


def assert_fit_to_keep(answer: Answer) -> None:
    """A database takes no NUL and no half of a surrogate pair, and a page of HTML is no detail."""
    for text in (answer.code, answer.detail, answer.provider_reference or "", answer.alert or ""):
        assert "\x00" not in text, answer
        text.encode()
        assert len(text) <= 2000, answer
