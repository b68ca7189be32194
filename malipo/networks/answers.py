"""Answers that are the same for every network: nothing was sent, no reply came, the network refuses us. Pure."""

from msgspec.structs import replace

from malipo.networks.connector import Answer, Balance, FailureCode, Recipient, Verdict


def nothing_sent(code: str, detail: str = "") -> Answer:
    """Provably nothing was accepted, and the network or the connection to it has a fault."""
    return Answer(verdict=Verdict.UNSENT, code=code, detail=detail, is_fault=True)


def lost(reason: str) -> Answer:
    """Something may have been sent, and no whole reply came."""
    return Answer(verdict=Verdict.UNKNOWN, code="lost", detail=reason, is_fault=True)


def misconfigured(network: str, code: str, detail: str) -> Answer:
    """It refused us and not the customer, before any payment: only an operator can fix that."""
    return Answer(
        verdict=Verdict.REFUSED,
        code=code,
        detail=detail,
        failure_code=FailureCode.REJECTED,
        refuses_us=True,
        alert=f"{network} refuses us: {code} {detail}".strip(),
    )


def failed_query(answer: Answer) -> Answer:
    """A failed query says nothing about the payment."""
    return replace(answer, verdict=Verdict.UNKNOWN, failure_code=None)


def unknown_balance(answer: Answer) -> Balance:
    """The call for the balance had no reply; why."""
    return Balance(code=answer.code, detail=answer.detail)


def unknown_recipient(answer: Answer) -> Recipient:
    """The look-up of a name had no reply; why."""
    return Recipient(code=answer.code, detail=answer.detail)
