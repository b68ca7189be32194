"""Scripts that once broke a rule, by its name. None does any more."""

from malipo.networks.connector import Type
from tests.model.scenario import Fault, Kind, Nature, Scenario

REGRESSIONS = {
    # A question that is answered after the end, or that a late reply makes due, uses up one of the five.
    "asked_too_little": Scenario(
        Nature(type=Type.DISBURSEMENT),
        (Fault(Kind.PAID_AFTER_FAILED_SILENTLY, seconds=96_000), Fault(Kind.REPLY_SLOW, seconds=77_000)),
    ),
    # Two “not found”, a day of silence, and one more end a collection.
    "not_in_a_row": Scenario(
        Nature(), (Fault(Kind.WORKER_DIES_BEFORE), Fault(Kind.QUERY_DOWN, at=261, seconds=88_000))
    ),
    # The first FAILED, told again, withdraws the debt of a payout that was paid since.
    "correction_undone": Scenario(
        Nature(type=Type.DISBURSEMENT, has_query=False, is_signed=True),
        (Fault(Kind.PAID_AFTER_FAILED, seconds=13), Fault(Kind.CALLBACK_TWICE, seconds=3900)),
    ),
    # Two questions are under way when a success is heard; the answer to the older one ends it.
    "failed_by_an_older_answer": Scenario(
        Nature(), (Fault(Kind.PAID_AFTER_FAILED, seconds=14), Fault(Kind.QUERY_SLOW, at=12, seconds=750))
    ),
    # Another amount was shown to operators, and a late FAILED takes that away.
    "other_amount_forgotten": Scenario(
        Nature(has_query=False, is_signed=True),
        (
            Fault(Kind.OTHER_AMOUNT),
            Fault(Kind.CALLBACK_LATE, seconds=480),
            Fault(Kind.PAID_AFTER_FAILED, seconds=213),
        ),
    ),
    # Nothing had left, a success is heard, nobody can be asked, and it is sent all the same.
    "sent_after_success": Scenario(
        Nature(has_query=False), (Fault(Kind.UNSENT, seconds=1), Fault(Kind.FORGED_SUCCESS, at=2))
    ),
}
