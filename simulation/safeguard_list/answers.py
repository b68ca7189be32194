"""Networks' answers: a payment ends as its network says, and what is said later is not lost."""

from malipo.payments import apply_network_answers, transaction
from malipo.payments.network_answer import contradiction, decide, failure, not_found_and_resend, trust
from malipo.payments.transaction import Cause, Status
from simulation.safeguard_list.remove_safeguard import InFunction, InTable, Safeguard

_NOT_FOUND_REPEATED = InFunction(
    not_found_and_resend.decide_missing,
    "if dispatch.not_found_count < _NOT_FOUNDS or not had_time(dispatch, rules.not_found_seconds):",
    "if False:",
)
_PAYOUT_NEVER_NOT_FOUND = InFunction(
    not_found_and_resend.decide_not_found, "if transaction.type is Type.COLLECTION:", "if True:"
)

SAFEGUARDS = (
    Safeguard(
        "success-blocks-failed",
        "What was reported as paid neither fails nor is sent again when the network no longer finds it.",
        (InFunction(not_found_and_resend.decide_not_found, "if dispatch.is_success_reported:", "if False:"),),
        note="covered by not-found-repeated: networks here find a payment before “not found” counts",
    ),
    Safeguard(
        "overtaken",
        "An answer to a query that is older than a reported success ends nothing.",
        (
            InFunction(
                decide._while_open,
                "case Verdict.REFUSED if received.source is AnswerSource.QUERY and is_overtaken(dispatch, received):",
                "case Verdict.REFUSED if False:",
            ),
        ),
        note="no seed reaches it",
    ),
    Safeguard(
        "not-found-repeated",
        "“Not found” counts only after three answers, and after the time a network needs to find a payment.",
        (_NOT_FOUND_REPEATED,),
        note="covered: only Airtel Money says “not found”; a payout is sent again under its key, which Airtel "
        "refuses, and a collection that FAILED too early must have been hidden and its reply lost, which "
        "these seeds do not meet",
    ),
    Safeguard(
        "payout-never-not-found",
        "A payout does not fail because its network does not find it.",
        (_PAYOUT_NEVER_NOT_FOUND,),
    ),
    Safeguard(
        "not-found-repeated+payout-never-not-found",
        "Both together: a payout does not fail because its network does not find it yet.",
        (_NOT_FOUND_REPEATED, _PAYOUT_NEVER_NOT_FOUND),
    ),
    Safeguard(
        "acknowledged-is-kept",
        "What its network had acknowledged, and no longer finds, is for operators.",
        (InFunction(not_found_and_resend.decide_not_found, "if dispatch.is_acknowledged:", "if False:"),),
        note="no seed reaches it",
    ),
    Safeguard(
        "second-refusal",
        "The refusal of a second sending says nothing about the first.",
        (
            InFunction(
                decide._while_open,
                "case Verdict.REFUSED if received.source is not AnswerSource.QUERY and dispatch.send_count > 1:",
                "case Verdict.REFUSED if False:",
            ),
        ),
        note="no seed reaches it",
    ),
    Safeguard(
        "unsigned-is-a-hint",
        "A callback without a signature only makes a query due.",
        (InFunction(trust.is_believed, "received.is_trusted", "True"),),
        note="not simulated: nobody forges callbacks",
    ),
    Safeguard(
        "amount-matches",
        "A report about another amount ends nothing.",
        (InFunction(trust.differs, "answer.amount is not None and answer.amount != transaction.amount", "False"),),
        note="not simulated: no network reports another amount",
    ),
    Safeguard(
        "answer-counts-once",
        "An answer that was stored by a COMMIT that was not confirmed has its effects once.",
        (InFunction(apply_network_answers.ApplyNetworkAnswers.__call__, "report.id in new", "True"),),
        note="covered by final-is-final: the second time the payment has ended",
    ),
    Safeguard(
        "follow-ups",
        "After FAILED the network is queried again: it may have paid after all.",
        (InFunction(failure.end_as_failed, "if may_be_paid and received.can_query:", "if False:"),),
        note="covered, with a restore, by the statements that operators import within the run; without one seed 49"
        " notices (unaccounted)",
    ),
    Safeguard(
        "contradiction-recorded",
        "What a network reports after the end is in the ledger.",
        (InFunction(contradiction.decide_after_end, "return replace(again, is_contradiction=True)", "return again"),),
    ),
    Safeguard(
        "final-is-final",
        "An answer after the end is held against the end, and changes no status.",
        (
            InFunction(decide.decide, "if transaction.status.is_final:", "if False:"),
            InTable(transaction.TRANSITIONS, (Status.FAILED, Cause.CONFIRMED), Status.COMPLETED),
            InTable(transaction.TRANSITIONS, (Status.COMPLETED, Cause.REFUSED), Status.FAILED),
        ),
    ),
)
