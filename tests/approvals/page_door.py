"""The pages for operators: each form of an act, sent as a browser sends it, with what the page showed."""

import html
import re
from collections.abc import Mapping

from malipo.approvals.act_rules import Act
from malipo.dashboard.operator.bank import statements as bank_statements
from malipo.ledger.bookings import Booking
from malipo.ledger.transfers import Transfer
from tests.approvals.bank_cases import BankCase
from tests.approvals.door_cases import Case
from tests.dashboard.operator.operator_pages import EVIDENCE, Operator
from tests.dashboard.operator.statement_pages import import_from, sent
from tests.dashboard.page_client import Seen

REASON = "The network's staff told us so on the phone"
_RESULT = re.compile(r'data-result="(\w+)"')
_FORM = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')

# As the page has it, of the columns of `door_cases.py`.
MAPPED = {"corrected": "yes", "receipt": "0", "at": "1", "amount": "2", "key": "3", "status": "4", "timeFormat": "iso"}

Fields = list[tuple[str, str]]


def hidden_in(seen: Seen, action: str, having: Mapping[str, str]) -> Fields:
    """What the form of this page sends by itself."""
    for path, inside in _FORM.findall(seen.text):
        fields = [(name, html.unescape(value)) for name, value in _HIDDEN.findall(inside) if name != "token"]
        if path == action and all((name, value) in fields for name, value in having.items()):
            return fields
    raise AssertionError(f"no form of {action}: {seen.words}")


def outcome_of(seen: Seen) -> str:
    if seen.status == 403:
        return "asked" if "Confirm that it is you" in seen.words else "refused"
    if _RESULT.search(seen.text):  # of several: what became of each
        return "refused" if _RESULT.findall(seen.text) == ["refused"] else "accepted"
    assert seen.status == 303, (seen.status, seen.words)
    return "accepted"


async def send(form: str, case: Case, operator: Operator, *, looks: Operator) -> Seen:
    """Send this form about the case; `looks` is who saw the page before."""
    if form.endswith(("/layout", "/words")):
        assert case.file is not None
        channel = case.payment.channel if case.payment is not None else "MPESA"
        upload = await sent(operator, case.file.read_bytes(), account=case.account, channel=case.channel or channel)
        said = {"word-0": "moved"} if form.endswith("/words") else MAPPED | {"moved": case.word, "name": case.layout}
        return await operator.surfer.post(upload + form[form.rindex("/") :], said)
    if form.endswith("{bank_upload}/import"):
        assert case.bank is not None
        assert case.bank.file is not None
        upload = await sent(operator, case.bank.file.read_bytes(), to=bank_statements.NEW, name=case.bank.file.name)
        return await operator.surfer.post(f"{upload}/import")
    if form.endswith("/import"):
        assert case.file is not None
        assert case.payment is not None
        channel = case.channel or case.payment.channel
        upload = await sent(operator, case.file.read_bytes(), account=case.account, channel=channel)
        return await import_from(operator, upload)
    page, fields, having = _page_of(form, case)
    subject = case.bank.subject if case.bank is not None else case.subject
    action = form.format(
        payment=case.payment.reference if case.payment else "",
        id=case.exception_id or case.file_id or subject,
        day=case.day,
        file=subject,
        bank_statement=subject,
        bank_exception=subject,
    )
    shown = hidden_in(await looks.surfer.get(page), action, having)
    seen = await operator.surfer.post(action, [*shown, *fields])
    if seen.status == 200 and not _RESULT.search(seen.text):  # What it changes is shown first.
        seen = await operator.surfer.post(action, [*hidden_in(seen, action, having), *fields])
    return seen


def _page_of(form: str, case: Case) -> tuple[str, Fields, dict[str, str]]:
    """The page that has it, what is typed, and which of several forms it is."""
    if case.bank is not None:
        return _page_of_bank(form, case, case.bank)
    match form.split("/")[2:]:
        case ["settlements" | "bank-accounts" as pages, _, _]:
            how = "reason" if form.endswith(("reject", "stop")) else "evidence"
            return f"/operator/{pages}/{case.subject}", [("how", "waive"), (how, EVIDENCE)], {}
        case ["settlements", "release"]:
            return "/operator/settlements", [("evidence", EVIDENCE)], {}
        case ["settlements", "approve"]:
            return f"/operator/{_SEEN_AT[case.act].format(case.subject)}", [], {"subject": case.subject}
        case ["cases", which, act]:
            assert case.payment is not None
            typed = [("outcome", case.outcome), ("evidence", EVIDENCE), ("despiteWaiting", "yes")]
            of_one = f"/operator/cases/{case.payment.reference}"
            page = f"/operator/cases/chosen?payment={case.payment.reference}" if which == "chosen" else of_one
            return page, typed if act == "propose" else [], {}
        case ["bookings", _]:
            return "/operator/bookings", [], {}
        case ["books", "suspense", "release"]:
            return "/operator/books/suspense", _release(case), {}
        case ["books", "suspense", "take-back"]:
            return "/operator/books/suspense", _take_back(case), {}
        case ["floats", "read"]:
            return "/operator/floats", [("channel", "MPESA"), ("account", ""), ("amount", "4200000")], {}
        case ["floats", act]:
            return "/operator/floats", _transfer(case) if act == "transfer" else [], {}
        case ["statements", _, act]:
            typed = [("reason", REASON), ("booking", case.booking_id)] if act == "propose" else []
            return f"/operator/statements/{case.file_id}", typed, {}
        case ["exceptions", act]:
            typed = [("choice", case.choice), ("reason", REASON), *case.terms.items()] if act == "propose" else []
            return f"/operator/exceptions/{case.exception_id}", typed, {}
        case ["exceptions", _, _]:
            return f"/operator/exceptions/{case.exception_id}", [("reason", REASON)], {}
        case ["close", _, act]:
            difference = case.act == "close_with_difference" and act == "close"
            typed = [("accept", "yes"), ("reason", "Five too many, looked for since Monday")] if difference else []
            return f"/operator/close/{case.day}", typed, {}
        case ["restore", "release"]:
            return "/operator/restore", [("evidence", EVIDENCE)], {"channel": ""}
        case ["restore", _]:
            return "/operator/restore", [], {"scope": "everything"}
        case ["operators", _]:
            return "/operator/operators", [], {"name": case.name}
        case ["vouch"]:
            return "/operator/account", [], {"name": case.name}
    raise AssertionError(form)


_SEEN_AT = {
    Act.VERIFY_BANK_ACCOUNT: "bank-accounts/{}",
    Act.COLLECT_SETTLEMENT: "settlements/{}",
    Act.RELEASE_SETTLEMENTS: "settlements",
}
_OF_FILE = (Act.APPROVE_PAYOUT_FILE, Act.VOID_PAYOUT_FILE, Act.REFUSE_TRANSFERS)
_OF_STATEMENT = (Act.IMPORT_BANK_STATEMENT, Act.WITHDRAW_BANK_STATEMENT)


def _page_of_bank(form: str, case: Case, bank: BankCase) -> tuple[str, Fields, dict[str, str]]:
    if case.act is Act.ADD_PAYER_ACCOUNT:
        page = "/operator/bank"
    elif form.endswith("/gather"):
        page = "/operator/bank/files"
    else:
        of = "files" if case.act in _OF_FILE else "statements" if case.act in _OF_STATEMENT else "exceptions"
        page = f"/operator/bank/{of}/{bank.subject}"
    is_approval = form.endswith("/approve")
    return page, [] if is_approval else bank.typed, {"subject": bank.subject} if is_approval else {}


def _release(case: Case) -> Fields:
    booking = case.booking
    assert isinstance(booking, Booking)
    return [
        ("booking", booking.releases or ""),
        ("amount", str(booking.amount)),
        ("merchant", booking.merchant_id),
        ("reference", booking.bank_reference),
    ]


def _take_back(case: Case) -> Fields:
    booking = case.booking
    assert isinstance(booking, Booking)
    return [
        ("released", f"{booking.releases} {booking.merchant_id}"),
        ("back", str(booking.amount)),
        ("backReference", booking.bank_reference),
    ]


def _transfer(case: Case) -> Fields:
    booking = case.booking
    assert isinstance(booking, Transfer)
    return [
        ("way", booking.kind),
        ("channel", booking.channel),
        ("account", booking.account),
        ("amount", str(booking.amount)),
        ("reference", booking.bank_reference),
    ]
