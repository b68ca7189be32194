"""Sending: a payment leaves once."""

from malipo.payments import claim_for_sending, lapse, withhold_duplicate_payouts
from malipo.payments.network_answer import decide
from malipo.payments.store import claims
from malipo.restore.store import installation
from malipo.worker import network_sender
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

SAFEGUARDS = (
    Safeguard(
        "claim-marked",
        "A payment that a worker is sending is not claimed by another.",
        (
            InFunction(
                claims.mark_sending,
                "next_action = 'sending', due_at = now() + $5 * interval '1 second'",
                "next_action = 'send', due_at = now() + $5 * interval '0 second'",
            ),
        ),
    ),
    Safeguard(
        "lease",
        "A network is not queried about a payment while its request may be under way.",
        (
            InFunction(
                claims.mark_sending,
                "due_at = now() + $5 * interval '1 second'",
                "due_at = now() + $5 * interval '0 second'",
            ),
        ),
        note="covered by not-found-repeated: an early query does no harm",
    ),
    Safeguard(
        "lease-ends",
        "What a worker had claimed when it died is queried by another.",
        (InFunction(claims._claim_queries, "next_action <> 'send'", "next_action = 'ask'"),),
        note="callbacks end what a dead worker had sent; none of 25 seeds without a restore notices either",
    ),
    Safeguard(
        "queried-before-resent",
        "What a worker had claimed when it died is not sent again without a query.",
        (InFunction(claims.lock_unsent, "d.next_action = 'send'", "d.next_action IN ('send', 'sending')"),),
        note="covered by the networks: a second request has the same key, and they refuse it; Tigo Pesa pays it "
        "again in half of its runs, which these seeds do not meet",
    ),
    Safeguard(
        "claim-too-old",
        "A worker that was paused does not send what it had claimed before.",
        (
            InFunction(
                network_sender.NetworkSender._send,
                "if age.seconds() >= min(START_SECONDS, self._calls.lease_seconds / 2):",
                "if False:",
            ),
        ),
        note="hardly simulated: a pause seldom falls between a claim and its request",
    ),
    Safeguard(
        "claim-found-again",
        "A claim whose COMMIT was not confirmed finds what it took, and sends it.",
        (
            InFunction(
                claim_for_sending.ClaimForSending._claim_once,
                "if again and (ours := await claims.find_claimed(tx, claim.id)):",
                "if False:",
            ),
        ),
        note="not needed for safety: without it the payment is queried after the lease, which is slower",
    ),
    Safeguard(
        "unknown-is-not-unsent",
        "Only what provably did not leave is sent again.",
        (
            InFunction(
                decide._while_open,
                "case Verdict.UNSENT if received.source is AnswerSource.SEND",
                "case Verdict.UNSENT | Verdict.UNKNOWN if received.source is AnswerSource.SEND",
            ),
        ),
        note="covered by the networks, as `queried-before-resent` is",
    ),
    Safeguard(
        "lapse-only-unsent",
        "Only what its network cannot know is ended because nobody sent it in time.",
        (
            InFunction(
                lapse.split_lapsed,
                "(late if is_late and is_unknown_to_network else in_time)",
                "(late if is_late else in_time)",
            ),
        ),
        note="no seed reaches it",
    ),
    Safeguard(
        "excess-refund-not-sent",
        "A refund is not sent when the money was given back, or taken back, since it was made.",
        (InFunction(withhold_duplicate_payouts._split, "refundable.is_excess(payout, *found)", "False"),),
        note="no seed reaches it",
    ),
    Safeguard(
        "refund-in-doubt-not-resent",
        "A refund that may have been paid, and is one too many by now, is not sent again.",
        (
            InFunction(
                withhold_duplicate_payouts._split,
                "refundable.is_excess(payout, *found)",
                "refundable.is_excess(*(payout, *found)) and _is_unknown_to_network(each)",
            ),
        ),
        note="hardly simulated with a restore, after which the merchant's repeat finds that the first refund was "
        "paid; without one seed 1 notices (refunded)",
    ),
    Safeguard(
        "hold",
        "While operators hold all payments, none is sent.",
        (
            InConstant(
                claims,
                "_MAY_BE_SENT",
                installation.TAKES_NO_PAYMENTS,
                installation.IS_FENCED,
            ),
        ),
        note="covered: while all is held, nothing is accepted either; only what waits at that moment could be sent",
    ),
)
