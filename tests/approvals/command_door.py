"""The commands of operators: each command of an act, as an operator types it."""

from collections.abc import Mapping
from pathlib import Path

from malipo.ledger.bank_bookings import BankBooking
from malipo.ledger.bookings import Booking
from malipo.ledger.transfers import Transfer
from malipo.payments.transaction import Type
from tests.approvals.door_cases import Case
from tests.journeys.operator_commands import Said, code_asked_for, malipo_unseen

WHY = ("--reason", "The network's staff told us so on the phone")
EVIDENCE = ("--evidence", "Receipt QK12AB on the statement of 15 November")
PASSPHRASE = "a fine new passphrase 7"
_REFUSALS = (
    "it takes two operators",
    "You have said how this file is read",
    "You brought the file that says what this line is",
    "Until a third operator vouches",
    "A third operator must vouch",
    "Another operator must vouch",
)


def outcome_of(said: Said, operator: str) -> str:
    if said.code == 0:
        return "accepted"
    assert said.code == 2, said
    if f"password of {operator}" in said.err or "code of the app" in said.err:
        return "asked"
    assert any(each in said.err for each in _REFUSALS), said.err
    return "refused"


async def give(
    command: str, case: Case, *, settings: Mapping[str, object], session: Path, typed: str | None = None
) -> Said:
    """Give this command about the case, with the session in a file. `typed` is what the operator types when asked. One
    operator looks at what is to be approved, and all name its code, as long as it is what waits."""
    words = [*command.split(), *_given(command, case)]
    if command == "operators password":  # It asks for the new password too.
        typed = f"{PASSPHRASE}\n{PASSPHRASE}\n" if typed is None else f"{PASSPHRASE}\n{typed}"
    if typed is not None:
        words.append("--stdin")
    seen = ("--seen", case.codes[command]) if command in case.codes else ()
    how = {"typed": typed or "", "operator_session": session, **settings}
    said = await malipo_unseen(*words, *seen, **how)
    if code := code_asked_for(said):
        case.codes[command] = code
        said = await malipo_unseen(*words, "--seen", code, **how)
    return said


def _given(command: str, case: Case) -> list[str]:
    merchant, booking, payment = case.merchant_id, case.booking, case.payment
    match command.split():
        case ["payments", "resolve"]:
            assert payment is not None
            waiting = ["--despite-waiting"] if payment.type is Type.DISBURSEMENT else []
            return [payment.reference, f"--{case.outcome}", *EVIDENCE, *waiting]
        case ["payments", "approve"]:
            assert payment is not None
            return [payment.reference, "--here"]
        case ["statements", "import"]:
            assert payment is not None
            channel = case.channel or payment.channel
            return [str(case.file), "--channel", channel, "--account", case.account, "--new-account"]
        case ["statements", "layout"]:
            return [case.layout, *(("--aggregator", "clickpesa") if case.channel else ("--moved", case.word))]
        case ["statements", "match"]:
            return []
        case ["statements", "fetch"]:
            assert payment is not None
            return [payment.channel]
        case ["statements", "approve-import"]:
            return [case.file_id, "--here"]
        case ["statements", "reject-import"]:
            return [case.file_id]
        case ["statements", "withdraw"]:
            return [case.file_id, *WHY]
        case ["statements", "undo"]:
            return [case.booking_id, *WHY]
        case ["statements", "approve"]:
            return [case.booking_id or case.file_id, "--here"]
        case ["wallet", "top-up" | "settle"]:
            assert isinstance(booking, Booking)
            return [merchant, str(booking.amount), "--reference", booking.bank_reference]
        case ["floats", "transfer"]:
            assert isinstance(booking, Transfer)
            return [booking.channel, str(booking.amount), "--to-bank", "--reference", booking.bank_reference]
        case ["books", "release" | "take-back"]:
            assert isinstance(booking, Booking)
            given = ["--merchant", merchant, "--reference", booking.bank_reference]
            return [booking.releases or "", str(booking.amount), *given]
        case ["books", "book"]:
            assert isinstance(booking, BankBooking)
            kind = booking.kind.replace("_", "-")
            return [kind, str(booking.amount), "--reference", booking.bank_reference]
        case ["wallet" | "floats" | "books", "approve"]:
            assert booking is not None
            return [booking.bank_reference, "--here"]
        case ["exceptions", "propose"]:
            terms = [each for name, value in case.terms.items() for each in (f"--{name}", value)]
            return [case.exception_id, case.choice.partition(":")[0], *terms, *WHY]
        case ["exceptions", "undo"]:
            return [case.exception_id, *WHY]
        case ["exceptions", "approve"]:
            return [case.exception_id, "--here"]
        case ["close", "day"]:
            return [case.day, *(["--accept-difference", *WHY] if case.act == "close_with_difference" else [])]
        case ["close", "approve"]:
            return [case.day, "--here"]
        case ["settlements", "verify"]:
            return [case.subject, *EVIDENCE]
        case ["settlements", "collect"]:
            return [case.subject, "--waive", *EVIDENCE]
        case ["settlements", "reject-account" | "stop-account"]:
            return [case.subject, *WHY]
        case ["settlements", "cancel"]:
            return [case.subject]
        case ["settlements", "release"]:
            return [*EVIDENCE]
        case ["settlements", "approve"]:
            return [case.subject, "--here"]
        case ["restore", "release"]:
            return [*EVIDENCE, "--here"]
        case ["bank", "approve"]:
            assert case.bank is not None
            return [case.bank.subject, "--here"]
        case ["bank", _]:
            assert case.bank is not None
            return case.bank.words
    return _of_access(command, case)


def _of_access(command: str, case: Case) -> list[str]:
    match command.split():
        case ["hold"]:
            return ["--release"]
        case ["payments", "cancel"]:
            assert case.payment is not None
            return [case.payment.reference]
        case ["tariff", "set"]:
            return [case.merchant_id, "--type", "COLLECTION", "--band", "500:0:150:20"]
        case ["restore", "fence"]:
            return list(WHY)
        case ["floats", "read"]:
            return ["MPESA", "4200000"]
        case ["statements", "charge"]:
            return ["MPESA", "DISBURSEMENT", "--fixed", "100"]
        case ["merchant", "create"]:
            return [case.name]
        case ["merchant", "activate" | "deactivate"]:
            return [case.merchant_id]
        case ["operators", "vouch" | "approve"]:
            return [case.name, "--here"]
        case ["operators", "role"]:
            return [case.name, "auditor", *WHY]
        case ["operators", _]:
            return [case.name]
        case ["key", "create"]:
            return [case.merchant_id, *(["--permissions", "payments.read"] if case.act == "make_key" else [])]
        case ["key", "approve"]:
            return [case.merchant_id]
        case ["key", "revoke"]:
            return [case.merchant_id, case.key_id]
        case ["merchant", "add-person"]:
            return [case.merchant_id, case.email]
        case ["merchant", _]:
            return [case.email]
    raise AssertionError(command)
