"""Cases at the terminal: payments that need an operator, as text. Pure."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from malipo import clock, money
from malipo.networks.connector import Channel
from malipo.payments.cases import case_reason
from malipo.payments.cases.resolution import ResolutionResult, ResolvedOutcome
from malipo.payments.store.cases import Case, ProposedResolution
from malipo.payments.store.creators import Creator
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.store.unknown_callbacks import UnknownCallback
from malipo.payments.transaction import Status, Transaction, Type
from malipo.words.cases import SENTENCES


def row_of(
    case: Case, *, unsettled_seconds: float, now: datetime, unconnected: Collection[tuple[Channel, Type]] = ()
) -> dict[str, Any]:
    transaction = case.transaction
    reason = case_reason.case_reason(case, unsettled_seconds=unsettled_seconds, now=now, unconnected=unconnected)
    return {
        "payment": transaction.id,
        "reference": transaction.reference,
        "type": transaction.type,
        "channel": transaction.channel,
        "status": transaction.status,
        "amount": transaction.amount,
        "owed": case.correction.owed if case.correction is not None else 0,
        "since": transaction.processing_at or transaction.created_at,
        "why": None if reason == "none" else SENTENCES[reason],
        "proposed": case.proposed,
    }


def parties_of(case: Case) -> dict[str, Any]:
    return {"merchant": case.transaction.merchant_id, "phone": case.transaction.phone, "name": case.transaction.name}


def creator_of(creator: Creator | None) -> str | None:
    """The API key, which is named and not shown; or the person in the dashboard."""
    if creator is None or creator.last4 is None:
        return None if creator is None else creator.id
    return f"API key {creator.id} ({creator.key_name}, ends in {creator.last4})"


def correction_of(case: Case) -> dict[str, Any] | None:
    """The payment's corrections after its end; amounts are the wallet's, negative if it was debited."""
    corrected = case.correction
    if corrected is None:
        return None
    return {
        "network says": "paid" if corrected.is_paid else "not paid",
        "said by": "operators" if corrected.source is None else f"the network ({corrected.source})",
        "credited": corrected.credited,
        "borne": corrected.borne,
        "owed": corrected.owed,
    }


def proposal_of(proposal: ProposedResolution | None) -> dict[str, Any] | None:
    """The proposal that the second operator must see before they agree."""
    if proposal is None:
        return None
    return {
        "proposed": proposal.outcome,
        "proposed by": proposal.requested_by,
        "proposed at": proposal.requested_at,
        "despite waiting": proposal.is_despite_waiting,
        "waived": proposal.is_waived,
        "evidence": proposal.evidence,
        "provider reference": proposal.provider_reference,
    }


def answer_row(answer: StoredAnswer) -> dict[str, Any]:
    return {
        "at": answer.received_at,
        "network": answer.connector,
        "by": answer.source,
        "verdict": answer.verdict,
        "code": answer.code,
        "words": answer.detail,
    }


def lines_of(case: Case, row: dict[str, Any], proposal: ProposedResolution | None) -> list[tuple[str, Any]]:
    """Everything about one case, as names and values for a person."""
    lines: list[tuple[str, Any]] = []
    for name, value in {**row, **parties_of(case), **(proposal_of(proposal) or {})}.items():
        if value is not None and name not in ("owed", "despite waiting", "waived"):
            lines.append((name, money.display(value) if name == "amount" else value))
    if proposal is not None and proposal.is_despite_waiting:
        lines.append(("careful", "failed, although the network has it and has not decided: it may still be paid"))
    if proposal is not None and proposal.is_waived:
        lines.append(("waived", "what is still owed is not taken: it is written off"))
    if case.correction is not None:
        lines += correction_lines(case)
    return lines


def correction_lines(case: Case) -> list[tuple[str, str]]:
    corrected = case.correction
    assert corrected is not None
    says = "that it was paid" if corrected.is_paid else "that it was not paid"
    lines = [("last said", f"{says}, by {'operators' if corrected.source is None else 'the network'}")]
    if corrected.credited:
        lines.append(("corrected", _moved(corrected.credited)))
    if corrected.borne:
        lines.append(("house", _borne(case.transaction, corrected.borne)))
    if corrected.owed:
        lines.append(("owed", f"{money.display(corrected.owed)}, not to be spent until operators decide"))
    return lines


def _moved(credited: int) -> str:
    verb = "added to" if credited > 0 else "taken from"
    return f"{money.display(abs(credited))} {verb} the wallet"


def _borne(transaction: Transaction, amount: int) -> str:
    """Either a wallet should have paid the amount, and it is written off; or a wallet should have received it, and the
    house keeps it. Or a decision before this one is reversed."""
    is_debt = (transaction.type is Type.COLLECTION) == (transaction.status is Status.COMPLETED)
    is_reversed = is_debt != (amount < 0)
    if is_debt:
        return f"{money.display(abs(amount))} is {'no longer ' if is_reversed else ''}written off"
    return f"the house {'no longer ' if is_reversed else ''}keeps {money.display(abs(amount))}"


def named(transaction: Transaction) -> str:
    return f"{transaction.reference}, {money.display(transaction.amount)}"


def sentence_of(resolved: ResolutionResult) -> str:
    transaction, what = resolved.transaction, named(resolved.transaction)
    if not resolved.is_done:
        return (
            f"Proposed: {what}, {resolved.outcome}. Another operator must look at the evidence "
            f"(malipo payments show {transaction.reference}) and approve it, at /operator/cases/{transaction.reference}"
        )
    if resolved.outcome is ResolvedOutcome.SEND:
        return f"Released: {what}, is sent."
    if not resolved.is_of_contradiction:
        return f"Resolved: {what}, is {transaction.status}."
    still_shown = "" if _is_as_shown(resolved) else f" The merchant still sees {transaction.status}."
    return f"Resolved as {resolved.outcome}: {what}. {_effect(resolved)}{still_shown}"


def _is_as_shown(resolved: ResolutionResult) -> bool:
    return resolved.outcome.is_paid == (resolved.transaction.status is Status.COMPLETED)


def _effect(resolved: ResolutionResult) -> str:
    parts = [_moved(resolved.credited)] if resolved.credited else []
    if resolved.borne:
        parts.append(_borne(resolved.transaction, resolved.borne))
    if resolved.owed:
        parts.append(f"{money.display(resolved.owed)} is still owed")
    text = "; ".join(parts) or "the wallet stays as it is"
    return f"{text[0].upper()}{text[1:]}."


def shown(resolved: ResolutionResult) -> dict[str, Any]:
    transaction = resolved.transaction
    return {
        "payment": transaction.id,
        "reference": transaction.reference,
        "status": transaction.status,
        "outcome": resolved.outcome,
        "isDone": resolved.is_done,
        "credited": resolved.credited,
        "borne": resolved.borne,
        "owed": resolved.owed,
        "endedAt": clock.iso(transaction.ended_at) if transaction.ended_at else None,
    }


def unknown(callback: UnknownCallback) -> dict[str, Any]:
    return {
        "at": callback.received_at,
        "network": callback.connector,
        "key": callback.network_key,
        "amount": callback.amount,
        "phone": callback.phone,
        "receipt": callback.provider_reference,
        "verdict": callback.verdict,
        "signed": callback.is_signed,
        "code": callback.code,
        "words": callback.detail,
    }
