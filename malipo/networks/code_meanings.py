"""The meanings of networks' codes, as data: each code with its verdict and its source. Pure.

A connector looks its codes up and adds nothing of its own. A code that is not in the table is UNKNOWN, no fault and no
refusal. So a new code can neither end a payment nor stop a network.
"""

from collections.abc import Mapping

import msgspec

from malipo.networks.answers import misconfigured
from malipo.networks.connector import Answer, FailureCode, FailureDetail, Verdict


class CodeMeaning(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    says: str  # the meaning of the network's code
    source: str  # who says that it means this
    failure_code: FailureCode | None = None
    failure_detail: FailureDetail | None = None
    refuses_us: bool = False  # the same for every customer
    is_fault: bool = False
    has_alert: bool = False  # an operator should look

    @property
    def in_words(self) -> str:
        """The meaning as it stands in docs/networks/, one page for each network."""
        marks = [str(self.failure_code)] if self.failure_code and not self.refuses_us else []
        if self.failure_detail:
            marks.append(str(self.failure_detail))
        if self.refuses_us:
            marks.append("refuses us")
        if self.is_fault:
            marks.append("a fault")
        if self.has_alert:
            marks.append("alert")
        return ": ".join(filter(None, (self.verdict, ", ".join(marks))))


Table = Mapping[str, CodeMeaning]


def answer_of(network: str, table: Table, code: str, detail: str = "", *, shown: str = "") -> Answer:
    """The answer that a code stands for. `shown` is the code as the network wrote it, which is what we store."""
    meaning, shown = table.get(code), shown or code
    if meaning is None:
        return Answer(verdict=Verdict.UNKNOWN, code=shown, detail=detail)
    if meaning.refuses_us:
        return misconfigured(network, shown, detail)
    return Answer(
        verdict=meaning.verdict,
        code=shown,
        detail=detail,
        failure_code=meaning.failure_code,
        failure_detail=meaning.failure_detail,
        is_fault=meaning.is_fault,
        alert=f"{network}: {meaning.says} ({' '.join(filter(None, (shown, detail)))})." if meaning.has_alert else None,
    )


def confirmed(says: str, source: str, *, has_alert: bool = False) -> CodeMeaning:
    return CodeMeaning(verdict=Verdict.CONFIRMED, says=says, source=source, has_alert=has_alert)


def waiting(says: str, source: str) -> CodeMeaning:
    return CodeMeaning(verdict=Verdict.WAITING, says=says, source=source)


def unknown(says: str, source: str, *, is_fault: bool = False) -> CodeMeaning:
    """A code that decides nothing. It is as if it were not listed, but it is documented."""
    return CodeMeaning(verdict=Verdict.UNKNOWN, says=says, source=source, is_fault=is_fault)


def missing(says: str, source: str) -> CodeMeaning:
    return CodeMeaning(verdict=Verdict.MISSING, says=says, source=source)


def not_indexed(says: str, source: str) -> CodeMeaning:
    return CodeMeaning(verdict=Verdict.NOT_INDEXED, says=says, source=source)


def refused(
    failure_code: FailureCode,
    says: str,
    source: str,
    *,
    detail: FailureDetail | None = None,
    has_alert: bool = False,
) -> CodeMeaning:
    """The money did not move and never will: a payout is given back. It is about this payment alone."""
    return CodeMeaning(
        verdict=Verdict.REFUSED,
        says=says,
        source=source,
        failure_code=failure_code,
        failure_detail=detail,
        has_alert=has_alert,
    )


def refuses_us(says: str, source: str) -> CodeMeaning:
    """A refusal that would meet every customer: credentials, configuration. Five in a row stop the sending."""
    return CodeMeaning(
        verdict=Verdict.REFUSED,
        says=says,
        source=source,
        failure_code=FailureCode.REJECTED,
        refuses_us=True,
        has_alert=True,
    )
