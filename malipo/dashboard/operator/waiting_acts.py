"""The proposals about settlements and our own bank accounts that wait for a second operator, as their page shows them:
the facts in words, and a code of the facts, which the form of the approval sends back."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from malipo import money
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import BANK, SETTLEMENT_ACTS, Act
from malipo.approvals.store import Proposal
from malipo.bank import approve as bank_approve
from malipo.bank import proposals as bank_proposals
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.proposal_pages import may_be_alone
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.merchants.store import merchants
from malipo.operators import store as operators
from malipo.settlement import operator_acts
from malipo.settlement.operator_acts import SettlementActTerms

_ACTS = {
    Act.VERIFY_BANK_ACCOUNT: "Proposed: this bank account is the merchant's own",
    Act.COLLECT_SETTLEMENT: "Proposed: what the wallet owes of it is taken, or written off",
    Act.RELEASE_SETTLEMENTS: "Proposed: settlements are sent again",
    Act.ADD_PAYER_ACCOUNT: "Proposed: a bank account of ours, or a change of one",
    Act.APPROVE_PAYOUT_FILE: "Proposed: this file goes to the bank",
    Act.VOID_PAYOUT_FILE: "Proposed: this file is void, and its settlements wait again",
    Act.REFUSE_TRANSFERS: "Proposed: the bank has refused these transfers",
    Act.IMPORT_BANK_STATEMENT: "Proposed: this statement counts",
    Act.WITHDRAW_BANK_STATEMENT: "Proposed: this statement is withdrawn",
    Act.BOOK_BANK_LINE: "Proposed: the line is booked to an account of the house",
    Act.MATCH_BANK_LINE: "Proposed: the line is this settlement or booking",
    Act.ADOPT_SETTLEMENT: "Proposed: the line has paid a settlement that was lost",
}
# The names of facts: of the proposal, and of its rows.
_FACTS = {
    "account": "Account",
    "account holder": "Account holder",
    "account holder in files": "Account holder, as files to the bank write it",
    "account number": "Account number",
    "action": "What it is",
    "added by": "Added by",
    "amount": "Amount",
    "bank": "Bank",
    "because": "Why",
    "becomes": "Becomes",
    "begins_on": "First day",
    "bic": "BIC",
    "booked_on": "Booked on",
    "booking": "Booking",
    "books_one_sum": "Booked as one sum",
    "cents": "Amount",
    "changes": "What changes",
    "details": "The bank's text",
    "dropped": "Left out, because",
    "ends_on": "Last day",
    "exception": "Exception",
    "file": "File",
    "format": "Format",
    "from": "Before",
    "gathered_by": "Gathered by",
    "imported_by": "Imported by",
    "is_waived": "Written off",
    "key": "Key",
    "kind": "Why it has no place",
    "layout": "Layout",
    "lines": "Lines",
    "lost days": "Lost days",
    "merchant": "Merchant",
    "message": "MsgId",
    "name": "Name",
    "number": "Number",
    "one_sum": "Booked as one sum",
    "owed": "Owed",
    "payout_layout": "Layout of payout files",
    "problems": "Problems",
    "reference": "The bank's reference",
    "replaces": "Replaces",
    "settlement": "Settlement",
    "statement": "Statement",
    "statements imported by": "Statements imported by",
    "statement_layout": "Layout of statements",
    "status": "Status",
    "to": "Afterwards",
    "to_account": "To the account",
    "transfers": "Transfers",
    "urgent_above": "At once, above",
    "wait_again": "Wait again",
    "bank accounts that owners must confirm": "Bank accounts that owners must confirm",
    "schedules that owners must save again": "Schedules that owners must save again",
    "notices sent to owners": "Notices sent to owners",
    "with_key": "With the key",
}
_YES, _NO = "Yes", "No"
_AMOUNTS = ("amount", "urgent_above", "owed")

SENTENCES = (_ACTS, _FACTS, _YES, _NO)


class WaitingAct(NamedTuple):
    proposal: Proposal
    title: str
    terms: list[tuple[str, str]]
    columns: list[str]  # of the rows
    rows: list[list[str]]
    code: str
    is_mine: bool
    may_be_alone: bool


async def find_waiting(
    connection: Conn, request: OperatorRequest, acts: Collection[Act], subject: str | None = None
) -> list[WaitingAct]:
    """The open proposals of these acts, about this subject if one is named; oldest first."""
    found = await proposals.find_open(connection, acts)
    wanted = [each for each in found if subject in (None, each.subject)]
    number = await operators.count(connection) if wanted else 0
    now = request.parts.clock()
    names = await merchants.find_names(connection) if wanted else {}
    return [await _shown(connection, request, each, names, operators=number, now=now) for each in wanted]


async def _shown(
    connection: Conn,
    request: OperatorRequest,
    proposal: Proposal,
    names: Mapping[str, str],
    *,
    operators: int,
    now: datetime,
) -> WaitingAct:
    terms: Mapping[str, object]
    rows: list[dict[str, Any]] = []
    if proposal.action in BANK:
        facts = await bank_approve.find_facts(connection, proposal, now=now)
        code = bank_proposals.code_of(proposal, facts)
        terms, rows = facts.terms, [dict(each) for each in facts.rows]
    else:
        assert proposal.action in SETTLEMENT_ACTS
        code = await operator_acts.find_code(connection, proposal)
        named = proposal.terms_as(SettlementActTerms)
        terms = {"merchant": named.merchant_id, "is_waived": named.is_waived or None}
        terms |= await operator_acts.find_shown(connection, proposal)
    words = request.words
    columns = [name for name in (rows[0] if rows else {}) if any(each[name] not in (None, "") for each in rows)]
    return WaitingAct(
        proposal,
        words(_ACTS[proposal.action]),
        [
            (_name(words, name), _value(words, name, value, names))
            for name, value in terms.items()
            if value not in (None, "")
        ],
        [_name(words, each) for each in columns],
        [[_value(words, name, each[name], names) for name in columns] for each in rows],
        code,
        proposal.requested_by == request.actor.name,
        may_be_alone(proposal.action, operators=operators),
    )


def _name(words: Translator, name: str) -> str:
    return words(_FACTS[name]) if name in _FACTS else name.replace("_", " ")


def _value(words: Translator, name: str, value: object, merchants: Mapping[str, str]) -> str:
    match value:
        case None:
            return ""
        case str() if name == "merchant" and value in merchants:
            return merchants[value]
        case bool():
            return words(_YES if value else _NO)
        case int() if name == "cents":
            return f"TZS {money.exact(0, value)}"
        case int() if name in _AMOUNTS:
            return money.display(value)
        case int():
            return f"{value:,}"
    return str(value).replace("operator ", "", 1) if name.endswith("by") else str(value)
