"""On which page each thing that waits for a second operator is approved or rejected. Pure."""

from typing import Any

from malipo.approvals.act_rules import ACTS, BANK, BOOKINGS, RESOLUTIONS, SETTLEMENT_ACTS, STATEMENT_UNDOS, Act
from malipo.approvals.store import Proposal
from malipo.dashboard.forms import Form
from malipo.reconciliation.matching.exception import is_exception_id

# With the subject in its place.
_SETTLEMENT_PAGES = {
    Act.VERIFY_BANK_ACCOUNT: "/operator/bank-accounts/{}",
    Act.COLLECT_SETTLEMENT: "/operator/settlements/{}",
    Act.RELEASE_SETTLEMENTS: "/operator/settlements",
    Act.ADD_PAYER_ACCOUNT: "/operator/bank",
    Act.APPROVE_PAYOUT_FILE: "/operator/bank/files/{}",
    Act.VOID_PAYOUT_FILE: "/operator/bank/files/{}",
    Act.REFUSE_TRANSFERS: "/operator/bank/files/{}",
    Act.IMPORT_BANK_STATEMENT: "/operator/bank/statements/{}",
    Act.WITHDRAW_BANK_STATEMENT: "/operator/bank/statements/{}",
    Act.BOOK_BANK_LINE: "/operator/bank/exceptions/{}",
    Act.MATCH_BANK_LINE: "/operator/bank/exceptions/{}",
    Act.ADOPT_SETTLEMENT: "/operator/bank/exceptions/{}",
}


def page_of(proposal: Proposal) -> str:
    if proposal.action in BOOKINGS:
        return "/operator/bookings"
    if proposal.action in STATEMENT_UNDOS:
        return f"/operator/statements/{proposal.terms_as(dict[str, Any])['file_id']}"
    if proposal.action is Act.IMPORT:
        return f"/operator/statements/{proposal.subject}"
    if proposal.action is Act.CLOSE_WITH_DIFFERENCE:
        return f"/operator/close/{proposal.subject}"
    if proposal.action is Act.GIVE_ROLE:
        return "/operator/operators"
    if proposal.action is Act.RELEASE:
        return "/operator/restore"
    if proposal.action in (*BANK, *SETTLEMENT_ACTS):
        return _SETTLEMENT_PAGES[proposal.action].format(proposal.subject)
    if proposal.action is Act.MAKE_PAYING_KEY:
        return "/operator"  # It lists what waits, and is shown in full at a terminal only.
    is_case = proposal.action in RESOLUTIONS and not is_exception_id(proposal.subject)
    return f"/operator/{'cases' if is_case else 'exceptions'}/{proposal.subject}"


def is_alone(form: Form) -> bool:
    """Whether the only operator approves what they have proposed themselves. It is refused if there is another
    operator, or if the act always takes two."""
    return form.text("alone") == "yes"


def may_be_alone(act: Act, *, operators: int) -> bool:
    """Whether the form offers it: if there is one operator, and the table of acts allows it. The audit log keeps it."""
    return operators == 1 and ACTS[act].may_be_alone
