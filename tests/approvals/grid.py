"""The grid of operators' acts, written by hand from the issue: every act × who does it and how that one has confirmed.

One table for all that tries it: the use cases (`test_grid_of_operators.py`), and each page form and each command
(`test_grid_of_doors.py`). What takes two at any amount stays so; what counts, counts above the amount (here 1,000
shillings); a reset of yesterday makes nobody a second operator; a trusted browser counts for nothing.
"""

from dataclasses import dataclass

LIMIT, MORE = 1000, 2000

ONE, TWICE, BOTH, RESET = "one operator", "the same operator twice", "two operators", "one of them reset yesterday"
TRUSTED, OLD = "trusted browser without code", "session of 11 minutes"
PEOPLE = (ONE, TWICE, BOTH, RESET)
COLUMNS = (*PEOPLE, TRUSTED, OLD)

TWO = {ONE: "waits", TWICE: "refused", BOTH: "done", RESET: "refused", TRUSTED: "asked", OLD: "asked"}
# One is enough, whoever it is, and nothing is left that the same one or a second one could approve.
SINGLE = {ONE: "done", TWICE: "nothing left", BOTH: "nothing left", RESET: "done", TRUSTED: "asked", OLD: "asked"}
# Somebody whose own reset is open vouches for nobody.
VOUCHING = SINGLE | {RESET: "refused"}


@dataclass(frozen=True)
class Door:
    """The forms of pages, or the commands: where an operator begins, and where a second one approves."""

    begins: tuple[str, ...] = ()
    approves: tuple[str, ...] = ()


NO_PAGE = Door()
_CASES = Door(
    ("/operator/cases/{payment}/propose",), ("/operator/cases/{payment}/approve", "/operator/cases/chosen/approve")
)
_OPEN_CASES = Door((*_CASES.begins, "/operator/cases/chosen/propose"), _CASES.approves)  # one, or several together
_RESOLVE = Door(("payments resolve",), ("payments approve",))
_EXCEPTIONS = Door(("/operator/exceptions/propose",), ("/operator/exceptions/approve",))
_EXCEPTION = Door(("exceptions propose",), ("exceptions approve",))
_UNDONE = Door(("/operator/exceptions/{id}/undo",), ("/operator/exceptions/approve",))
_UNDO = Door(("exceptions undo",), ("exceptions approve",))
_STATEMENT = Door(("/operator/statements/{id}/propose",), ("/operator/statements/{id}/approve",))
_WITHDRAWN = ("statements approve",)
_SETTLEMENTS = ("settlements approve",)
_SETTLED = ("/operator/settlements/approve",)
_CLOSE = "/operator/close/{day}/close"


@dataclass(frozen=True)
class Row:
    cells: dict[str, str]
    pages: Door
    commands: Door


GRID: dict[str, Row] = {
    "resolve_open_collection": Row(TWO, _OPEN_CASES, _RESOLVE),
    "resolve_open_payout": Row(TWO, _OPEN_CASES, _RESOLVE),
    "resolve_reported": Row(TWO, _OPEN_CASES, _RESOLVE),
    "resolve_ended": Row(
        TWO,
        Door(_CASES.begins + _EXCEPTIONS.begins, _CASES.approves + _EXCEPTIONS.approves),
        Door(_RESOLVE.begins + _EXCEPTION.begins, _RESOLVE.approves + _EXCEPTION.approves),
    ),
    "import": Row(
        TWO,
        Door(("/operator/statements/new/{upload}/import",), ("/operator/statements/{id}/approve-import",)),
        Door(("statements import", "statements fetch"), ("statements approve-import",)),
    ),
    "reject_import": Row(
        SINGLE, Door(("/operator/statements/{id}/reject-import",)), Door(("statements reject-import",))
    ),
    "top_up": Row(TWO, Door((), ("/operator/bookings/approve",)), Door(("wallet top-up",), ("wallet approve",))),
    "settlement": Row(TWO, Door((), ("/operator/bookings/approve",)), Door(("wallet settle",), ("wallet approve",))),
    "transfer": Row(
        TWO,
        Door(("/operator/floats/transfer",), ("/operator/floats/approve", "/operator/bookings/approve")),
        Door(("floats transfer",), ("floats approve",)),
    ),
    "suspense_release": Row(
        TWO,
        Door(("/operator/books/suspense/release",), ("/operator/bookings/approve",)),
        Door(("books release",), ("books approve",)),
    ),
    "suspense_take_back": Row(
        TWO,
        Door(("/operator/books/suspense/take-back",), ("/operator/bookings/approve",)),
        Door(("books take-back",), ("books approve",)),
    ),
    "book_at_bank": Row(TWO, Door((), ("/operator/bookings/approve",)), Door(("books book",), ("books approve",))),
    "book_equity": Row(TWO, Door((), ("/operator/bookings/approve",)), Door(("books book",), ("books approve",))),
    "book_line": Row(TWO, _EXCEPTIONS, _EXCEPTION),
    "book_payout_line": Row(TWO, _EXCEPTIONS, _EXCEPTION),
    "match_line": Row(TWO, _EXCEPTIONS, _EXCEPTION),
    "adopt_line": Row(TWO, _EXCEPTIONS, _EXCEPTION),
    "note": Row(SINGLE, Door(_EXCEPTIONS.begins), Door(_EXCEPTION.begins)),
    "undo": Row(TWO, _UNDONE, _UNDO),
    "undo_of_two": Row(TWO, _UNDONE, _UNDO),
    "withdraw_statement": Row(TWO, _STATEMENT, Door(("statements withdraw",), _WITHDRAWN)),
    # malipo has proposed it: the first operator who agrees is its proposer from then on.
    "withdraw_doubted": Row(TWO, Door(_STATEMENT.approves, _STATEMENT.approves), Door(_WITHDRAWN, _WITHDRAWN)),
    "undo_statement_booking": Row(TWO, _STATEMENT, Door(("statements undo",), _WITHDRAWN)),
    "close_day": Row(SINGLE, Door((_CLOSE,)), Door(("close day",))),
    "close_with_difference": Row(
        TWO, Door((_CLOSE,), ("/operator/close/{day}/approve",)), Door(("close day",), ("close approve",))
    ),
    "fence": Row(SINGLE, NO_PAGE, Door(("restore fence",))),
    "release": Row(
        TWO,
        Door(("/operator/restore/release",), ("/operator/restore/release",)),
        Door(("restore release",), ("restore release",)),
    ),
    "end_hold": Row(SINGLE, Door(("/operator/restore/end-hold",)), Door(("hold",))),
    "cancel_payment": Row(SINGLE, Door(("/operator/cases/{payment}/cancel",)), Door(("payments cancel",))),
    # No worker reports what it carries, so a command's own environment could say anything.
    "cancel_unreported": Row(
        TWO, Door(("/operator/cases/{payment}/cancel",), _CASES.approves), Door(("payments cancel",), _RESOLVE.approves)
    ),
    "vouch": Row(VOUCHING, Door(("/operator/vouch",)), Door(("operators vouch", "merchant vouch"))),
    "save_layout": Row(
        SINGLE,
        Door(("/operator/statements/new/{upload}/layout", "/operator/statements/new/{upload}/words")),
        Door(("statements layout",)),
    ),
    "set_tariff": Row(SINGLE, NO_PAGE, Door(("tariff set",))),
    "set_charge": Row(SINGLE, NO_PAGE, Door(("statements charge",))),
    "note_reading": Row(SINGLE, Door(("/operator/floats/read",)), Door(("floats read",))),
    "create_merchant": Row(SINGLE, NO_PAGE, Door(("merchant create",))),
    "switch_merchant": Row(SINGLE, NO_PAGE, Door(("merchant deactivate", "merchant activate"))),
    "verify_bank_account": Row(
        TWO,
        Door(("/operator/bank-accounts/{id}/verify",), _SETTLED),
        Door(("settlements verify",), _SETTLEMENTS),
    ),
    "reject_bank_account": Row(
        SINGLE, Door(("/operator/bank-accounts/{id}/reject",)), Door(("settlements reject-account",))
    ),
    "stop_bank_account": Row(SINGLE, Door(("/operator/bank-accounts/{id}/stop",)), Door(("settlements stop-account",))),
    "cancel_settlement": Row(SINGLE, Door(("/operator/settlements/{id}/cancel",)), Door(("settlements cancel",))),
    "collect_settlement": Row(
        TWO, Door(("/operator/settlements/{id}/collect",), _SETTLED), Door(("settlements collect",), _SETTLEMENTS)
    ),
    "release_settlements": Row(
        TWO, Door(("/operator/settlements/release",), _SETTLED), Door(("settlements release",), _SETTLEMENTS)
    ),
    # No page makes access for others.
    "make_key": Row(SINGLE, NO_PAGE, Door(("key create", "key revoke"))),
    "make_paying_key": Row(TWO, NO_PAGE, Door(("key create",), ("key approve",))),
    "add_person": Row(SINGLE, NO_PAGE, Door(("merchant add-person", "operators add"))),
    "make_password_link": Row(SINGLE, NO_PAGE, Door(("merchant password-link",))),
    "reset_second_factor": Row(
        SINGLE, NO_PAGE, Door(("merchant reset-second-factor", "operators reset-second-factor"))
    ),
    "give_role": Row(
        TWO,
        Door((), ("/operator/operators/approve",)),
        Door(("operators role",), ("operators approve",)),
    ),
    "set_operator_password": Row(SINGLE, NO_PAGE, Door(("operators password",))),
}

_BANK = ("bank approve",)
_AT_BANK = ("/operator/bank/approve",)
_FILE, _LINE = "/operator/bank/files/{file}", "/operator/bank/exceptions/{bank_exception}"
_OF_BANK = "/operator/bank/statements"
GRID |= {
    "add_payer_account": Row(TWO, Door(("/operator/bank",), _AT_BANK), Door(("bank add-account",), _BANK)),
    "approve_payout_file": Row(TWO, Door(("/operator/bank/files/gather",), _AT_BANK), Door(("bank gather",), _BANK)),
    "void_payout_file": Row(TWO, Door((f"{_FILE}/void",), _AT_BANK), Door(("bank void",), _BANK)),
    "refuse_transfers": Row(TWO, Door((f"{_FILE}/refuse",), _AT_BANK), Door(("bank refuse",), _BANK)),
    "import_bank_statement": Row(
        TWO, Door((f"{_OF_BANK}/new/{{bank_upload}}/import",), _AT_BANK), Door(("bank import",), _BANK)
    ),
    "withdraw_bank_statement": Row(
        TWO, Door((f"{_OF_BANK}/{{bank_statement}}/withdraw",), _AT_BANK), Door(("bank withdraw",), _BANK)
    ),
    "book_bank_line": Row(TWO, Door((f"{_LINE}/decide",), _AT_BANK), Door(("bank decide",), _BANK)),
    "match_bank_line": Row(TWO, Door((f"{_LINE}/decide",), _AT_BANK), Door(("bank decide",), _BANK)),
    "adopt_settlement": Row(TWO, Door((f"{_LINE}/decide",), _AT_BANK), Door(("bank decide",), _BANK)),
}

# Chains: who says how a file is read has a part in it, whoever imports it. A word of the status is said before the import,
# by its page or by the command; columns are saved on a page; the aggregator of a layout is named after the import, by the
# command. A part of the file is the word or the file itself: whoever has one is not the second operator.
WORD, SAVED, AGGREGATOR = "says a word", "saves the layout", "names the aggregator afterwards"


@dataclass(frozen=True)
class Chain:
    said: str
    says: str
    imports: str
    approves: str
    outcome: str


CHAINS = [
    Chain(WORD, "asha", "juma", "asha", "refused"),
    Chain(WORD, "asha", "juma", "juma", "refused"),
    Chain(WORD, "asha", "juma", "baraka", "done"),
    Chain(WORD, "asha", "asha", "asha", "refused"),
    Chain(WORD, "asha", "asha", "juma", "done"),
    Chain(WORD, "juma", "asha", "juma", "refused"),
    Chain(WORD, "asha", "juma", "rehema", "refused"),
    Chain(SAVED, "asha", "juma", "asha", "refused"),
    Chain(SAVED, "asha", "juma", "baraka", "done"),
    Chain(SAVED, "asha", "asha", "juma", "done"),
    Chain(SAVED, "juma", "asha", "juma", "refused"),
    Chain(AGGREGATOR, "asha", "juma", "asha", "refused"),
    Chain(AGGREGATOR, "asha", "juma", "baraka", "done"),
    Chain(AGGREGATOR, "asha", "asha", "juma", "done"),
]
