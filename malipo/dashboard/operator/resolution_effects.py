"""Effects of a resolution on the wallet, as sentences, shown to the operator before the decision.

The rules are those of `payments/cases/resolution.py`: the wallet follows the network, or the amount is written off.
"""

from collections.abc import Iterator
from typing import NamedTuple

from malipo import money
from malipo.dashboard.language import Translator
from malipo.ledger.wallet import Wallet
from malipo.payments import correction_moves
from malipo.payments.cases.resolution import ResolutionEffect, ResolvedOutcome, effect_of, is_for_review
from malipo.payments.correction_moves import Correction
from malipo.payments.store.cases import Case, ProposedResolution
from malipo.payments.transaction import Status, Transaction, Type

SENTENCES = {
    "right_paid": "{network} is right: it was paid",
    "right_unpaid": "{network} is right: it was not paid",
    "waived": "{network} is right, but what is owed need not be given back",
    "given_back": "{network} is right, but the merchant gets back what was taken",
    "not_given": "{network} is right, but the merchant does not get it",
    "still_paid": "The network's statement says that it was paid",
    "still_unpaid": "The network's statement says that it was not paid",
    "taken": "{amount} is taken from the wallet.",
    "added": "{amount} is added to the wallet.",
    "stays": "The wallet stays as it is.",
    "owed": "The wallet holds no more, so {amount} stays owed.",
    "written_off": "{amount} is written off.",
    "keeps": "The house keeps {amount}.",
    "not_written_off": "{amount} is no longer written off.",
    "not_kept": "The house no longer keeps {amount}.",
}


WAIVED = "waived"  # the network is right, and what is still owed is not taken


class ResolutionChoice(NamedTuple):
    value: str  # a outcome, or WAIVED
    title: str
    effect: str


def is_waiting(case: Case) -> bool:
    """A payout that its network last called waiting: it may be paid at any moment."""
    is_open_payout = case.transaction.type is Type.DISBURSEMENT and not case.transaction.status.is_final
    return is_open_payout and case.dispatch is not None and case.dispatch.is_acknowledged


def said_of(case: Case) -> str:
    """The version of the case, so that nobody decides about something else than they saw (optimistic locking)."""
    return "" if case.correction is None else str(case.correction.ordinal)


def finding_of(case: Case, value: str) -> tuple[ResolvedOutcome, bool]:
    """The outcome, and whether what is owed is waived."""
    if value != WAIVED:
        return ResolvedOutcome(value), False
    is_paid = (case.correction or correction_moves.begin(case.transaction)).is_paid
    return ResolvedOutcome.COMPLETED if is_paid else ResolvedOutcome.FAILED, True


def value_of(proposal: ProposedResolution) -> str:
    return WAIVED if proposal.is_waived else proposal.outcome


def choices_of(words: Translator, case: Case, wallet: Wallet, network: str) -> list[ResolutionChoice]:
    """The outcomes that an operator can choose for an ended payment; the network's own comes first."""
    before = case.correction or correction_moves.begin(case.transaction)
    outcomes = (ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED)
    reported, other = sorted(outcomes, key=lambda outcome: outcome.is_paid != before.is_paid)
    choices = []
    for value in (reported, WAIVED, other):
        outcome, is_waived = finding_of(case, value)
        effect = effect_of(case, outcome, is_waived=is_waived, available=wallet.available)
        if _is_possible(case, before, value, effect):
            title = SENTENCES[_title(case.transaction, before, value)]
            sentences = " ".join(_told(words, case.transaction, effect))
            choices.append(ResolutionChoice(value, words(title, network=network), sentences))
    return choices


def _is_possible(case: Case, before: Correction, value: str, effect: ResolutionEffect) -> bool:
    if value == WAIVED:
        return before.owed > 0
    is_other = ResolvedOutcome(value).is_paid != before.is_paid
    if is_other and correction_moves.is_contradicted_by_network(case.transaction, before):
        # While nothing was taken of a debt, it is the same as to waive it.
        return effect.credited != 0 or (effect.borne != 0 and not before.owed)
    return is_for_review(case) or (is_other and case.transaction.processing_at is not None) or any(effect)


def _title(transaction: Transaction, before: Correction, value: str) -> str:
    if value == WAIVED:
        return "waived"
    is_paid = ResolvedOutcome(value).is_paid
    if not correction_moves.is_contradicted_by_network(transaction, before):
        return "still_paid" if is_paid else "still_unpaid"
    if is_paid == before.is_paid:
        return "right_paid" if is_paid else "right_unpaid"
    return "given_back" if _is_debt(transaction) else "not_given"


def _told(words: Translator, transaction: Transaction, effect: ResolutionEffect) -> Iterator[str]:
    for name, amount in _parts(transaction, effect):
        sentence = SENTENCES[name]
        yield words(sentence, amount=money.display(abs(amount)))


def _parts(transaction: Transaction, effect: ResolutionEffect) -> Iterator[tuple[str, int]]:
    if effect.credited:
        yield "added" if effect.credited > 0 else "taken", effect.credited
    if effect.borne:
        is_debt = _is_debt(transaction)
        does, no_longer = ("written_off", "not_written_off") if is_debt else ("keeps", "not_kept")
        yield does if is_debt == (effect.borne < 0) else no_longer, effect.borne
    if effect.owed:
        yield "owed", effect.owed
    if not any(effect):
        yield "stays", 0


def _is_debt(transaction: Transaction) -> bool:
    """Whether the corrected outcome leaves less in the wallet than the reported one."""
    return (transaction.type is Type.COLLECTION) == (transaction.status is Status.COMPLETED)
