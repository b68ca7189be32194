"""Who may run which command, and which acts of operators each command does.

`cli/actor.py` and `cli/reauthentication.py` ask it for every command that changes something.
"""

import argparse
from enum import Enum
from typing import Any

from malipo.accounts.reauthentication import SensitiveAct
from malipo.approvals.act_rules import (
    BANK,
    BANK_LINES,
    BOOKINGS,
    CANCELS,
    CLOSES,
    EXCEPTION_ACTIONS,
    EXCEPTION_UNDOS,
    KEYS,
    RESOLUTIONS,
    SETTLEMENT_ACTS,
    STATEMENT_UNDOS,
    Act,
    confirmation_of,
)
from malipo.errors import Forbidden
from malipo.operators.roles import Right


class Authority(Enum):
    NOBODY = "reads, or changes nothing of ours: no log-in required"
    MACHINE = "anybody who may use this machine; in the name of the operator who is logged in, if one is"
    INSTALLER = "the person who installs, until an operator has a password; from then on an operator who is logged in"
    OPERATOR = "an operator who is logged in"
    SECOND_OPERATOR = "another operator than the one who proposed it: on the pages, or here with --here"


AUTHORITY = {
    "demo": Authority.MACHINE,
    "serve": Authority.MACHINE,
    "reload": Authority.MACHINE,
    "api": Authority.MACHINE,
    "worker": Authority.MACHINE,
    "migrate": Authority.MACHINE,
    "secrets rotate": Authority.MACHINE,
    "books month": Authority.MACHINE,  # It reads; the audit log has who made an archive.
    # A key or a password of a merchant can pay out what is in the wallet, and another operator is a second vote.
    "merchant create": Authority.INSTALLER,
    "merchant activate": Authority.INSTALLER,
    "merchant deactivate": Authority.INSTALLER,
    "merchant add-person": Authority.INSTALLER,
    "merchant password-link": Authority.INSTALLER,
    "merchant reset-second-factor": Authority.INSTALLER,
    "merchant vouch": Authority.SECOND_OPERATOR,
    "key create": Authority.INSTALLER,
    "key revoke": Authority.INSTALLER,
    "key reject": Authority.OPERATOR,
    "key approve": Authority.SECOND_OPERATOR,
    "tariff set": Authority.INSTALLER,
    "operators add": Authority.INSTALLER,
    "operators password": Authority.INSTALLER,
    "operators reset-second-factor": Authority.INSTALLER,
    "operators vouch": Authority.SECOND_OPERATOR,
    "operators role": Authority.INSTALLER,
    "operators reject": Authority.OPERATOR,
    "operators approve": Authority.SECOND_OPERATOR,
    "wallet top-up": Authority.OPERATOR,
    "wallet settle": Authority.OPERATOR,
    "wallet reject": Authority.OPERATOR,
    "wallet approve": Authority.SECOND_OPERATOR,
    "payments resolve": Authority.OPERATOR,
    "payments reject": Authority.OPERATOR,
    "payments cancel": Authority.OPERATOR,
    "payments approve": Authority.SECOND_OPERATOR,
    "invoices issue": Authority.OPERATOR,
    "invoices fiscal-number": Authority.OPERATOR,
    "invoices buyer": Authority.OPERATOR,
    "invoices tax-rate": Authority.OPERATOR,
    "statements import": Authority.OPERATOR,
    "close day": Authority.OPERATOR,
    "close reject": Authority.OPERATOR,
    "close approve": Authority.SECOND_OPERATOR,
    "statements layout": Authority.OPERATOR,
    "statements match": Authority.OPERATOR,
    "statements charge": Authority.OPERATOR,
    "exceptions propose": Authority.OPERATOR,
    "exceptions reject": Authority.OPERATOR,
    "exceptions undo": Authority.OPERATOR,
    "exceptions approve": Authority.SECOND_OPERATOR,
    "statements fetch": Authority.OPERATOR,
    "statements withdraw": Authority.OPERATOR,
    "statements undo": Authority.OPERATOR,
    "statements reject": Authority.OPERATOR,
    "statements approve": Authority.SECOND_OPERATOR,
    "statements approve-import": Authority.SECOND_OPERATOR,
    "statements reject-import": Authority.OPERATOR,
    "floats read": Authority.OPERATOR,
    "floats transfer": Authority.OPERATOR,
    "floats reject": Authority.OPERATOR,
    "floats approve": Authority.SECOND_OPERATOR,
    "books book": Authority.OPERATOR,
    "books release": Authority.OPERATOR,
    "books take-back": Authority.OPERATOR,
    "books reject": Authority.OPERATOR,
    "books approve": Authority.SECOND_OPERATOR,
    "bank add-account": Authority.OPERATOR,
    "bank gather": Authority.OPERATOR,
    "bank download": Authority.OPERATOR,
    "bank void": Authority.OPERATOR,
    "bank refuse": Authority.OPERATOR,
    "bank import": Authority.OPERATOR,
    "bank withdraw": Authority.OPERATOR,
    "bank match": Authority.OPERATOR,
    "bank decide": Authority.OPERATOR,
    "bank reject": Authority.OPERATOR,
    "bank approve": Authority.SECOND_OPERATOR,
    "settlements verify": Authority.OPERATOR,
    "settlements reject-account": Authority.OPERATOR,
    "settlements stop-account": Authority.OPERATOR,
    "settlements cancel": Authority.OPERATOR,
    "settlements collect": Authority.OPERATOR,
    "settlements release": Authority.OPERATOR,
    "settlements reject": Authority.OPERATOR,
    "settlements approve": Authority.SECOND_OPERATOR,
    "hold": Authority.OPERATOR,
    "numbers block": Authority.OPERATOR,
    "numbers unblock": Authority.OPERATOR,
    "restore fence": Authority.OPERATOR,
    "restore reject": Authority.OPERATOR,
    # The first to give it proposes; the second approves, and that takes --here.
    "restore release": Authority.OPERATOR,
    "log begin": Authority.OPERATOR,
    "log change-key": Authority.OPERATOR,
    "log erase": Authority.OPERATOR,
    "log status": Authority.NOBODY,
    "log keys": Authority.NOBODY,
    "log check": Authority.NOBODY,
    "log consistency": Authority.NOBODY,
    "doctor": Authority.NOBODY,
    "merchant list": Authority.NOBODY,
    "key list": Authority.NOBODY,
    "tariff show": Authority.NOBODY,
    "wallet show": Authority.NOBODY,
    "wallet pending": Authority.NOBODY,
    "payments unsettled": Authority.NOBODY,
    "payments show": Authority.NOBODY,
    "payments unknown-callbacks": Authority.NOBODY,
    "networks list": Authority.NOBODY,
    "numbers list": Authority.NOBODY,
    "networks verify": Authority.NOBODY,
    "mail test": Authority.NOBODY,
    "mail queue": Authority.NOBODY,
    "restore status": Authority.NOBODY,
    "ledger check": Authority.NOBODY,
    "statements list": Authority.NOBODY,
    "statements show": Authority.NOBODY,
    "statements profiles": Authority.NOBODY,
    "close list": Authority.NOBODY,
    "close show": Authority.NOBODY,
    "close key": Authority.NOBODY,
    "close verify": Authority.NOBODY,
    "books trial-balance": Authority.NOBODY,
    "books journal": Authority.NOBODY,
    "books safeguarding": Authority.NOBODY,
    "books pending": Authority.NOBODY,
    "books suspense": Authority.NOBODY,
    "books vouchers": Authority.NOBODY,
    "books accounts": Authority.NOBODY,
    "statements charges": Authority.NOBODY,
    "statements waiting": Authority.NOBODY,
    "exceptions list": Authority.NOBODY,
    "exceptions show": Authority.NOBODY,
    "floats list": Authority.NOBODY,
    "invoices list": Authority.NOBODY,
    "invoices pdf": Authority.NOBODY,
    "bank accounts": Authority.NOBODY,
    "bank balance": Authority.NOBODY,
    "bank files": Authority.NOBODY,
    "bank file": Authority.NOBODY,
    "bank statements": Authority.NOBODY,
    "bank lines": Authority.NOBODY,
    "bank exceptions": Authority.NOBODY,
    "floats pending": Authority.NOBODY,
    "settlements list": Authority.NOBODY,
    "settlements owing": Authority.NOBODY,
    "settlements accounts": Authority.NOBODY,
    "approvals": Authority.NOBODY,
    "operators list": Authority.NOBODY,
    "operators login": Authority.NOBODY,
    "operators logout": Authority.NOBODY,
    "operators whoami": Authority.NOBODY,
    "audit": Authority.NOBODY,
    "listen": Authority.NOBODY,
    "trigger": Authority.NOBODY,
}


# Commands that an operator may give whose role does not let them act. `login.set_password` lets them set no other's.
RIGHTS: dict[str, Right] = {"operators password": Right.OWN}


def right_of(command: str) -> Right:
    """The right that an operator needs for a command that changes something."""
    return RIGHTS.get(command, Right.ACT)


# The operators' acts that each command does, as the pages do them. Commands that take a proposal back are not here, but
# for a list of payments, which turns each of its lines into an exception.
DOES: dict[str, tuple[Act, ...]] = {
    "key create": KEYS,
    "key approve": (Act.MAKE_PAYING_KEY,),
    "key revoke": (Act.MAKE_KEY,),
    "merchant add-person": (Act.ADD_PERSON,),
    "merchant password-link": (Act.MAKE_PASSWORD_LINK,),
    "merchant reset-second-factor": (Act.RESET_SECOND_FACTOR,),
    "operators add": (Act.ADD_PERSON,),
    "operators password": (Act.SET_OPERATOR_PASSWORD,),
    "operators reset-second-factor": (Act.RESET_SECOND_FACTOR,),
    "operators vouch": (Act.VOUCH,),
    "operators role": (Act.GIVE_ROLE,),
    "operators approve": (Act.GIVE_ROLE,),
    "merchant vouch": (Act.VOUCH,),
    "merchant create": (Act.CREATE_MERCHANT,),
    "merchant activate": (Act.SWITCH_MERCHANT,),
    "merchant deactivate": (Act.SWITCH_MERCHANT,),
    "tariff set": (Act.SET_TARIFF,),
    "payments cancel": CANCELS,
    "wallet top-up": (Act.TOP_UP,),
    "wallet settle": (Act.SETTLEMENT,),
    "wallet approve": BOOKINGS,
    "payments resolve": RESOLUTIONS,
    "payments approve": RESOLUTIONS,
    "statements import": (Act.IMPORT,),
    "statements layout": (Act.SAVE_LAYOUT,),
    "statements charge": (Act.SET_CHARGE,),
    "statements fetch": (Act.IMPORT,),
    "statements withdraw": STATEMENT_UNDOS,
    "statements undo": STATEMENT_UNDOS,
    "statements approve": STATEMENT_UNDOS,
    "statements approve-import": (Act.IMPORT,),
    "statements reject-import": (Act.REJECT_IMPORT,),
    "exceptions propose": EXCEPTION_ACTIONS,
    "exceptions undo": EXCEPTION_UNDOS,
    "exceptions approve": (*EXCEPTION_ACTIONS, *EXCEPTION_UNDOS),
    "close day": CLOSES,
    "close approve": (Act.CLOSE_WITH_DIFFERENCE,),
    "floats read": (Act.NOTE_READING,),
    "floats transfer": (Act.TRANSFER,),
    "books book": (Act.BOOK_AT_BANK, Act.BOOK_EQUITY),
    "books release": (Act.SUSPENSE_RELEASE,),
    "books take-back": (Act.SUSPENSE_TAKE_BACK,),
    "books approve": BOOKINGS,
    "floats approve": BOOKINGS,
    "bank add-account": (Act.ADD_PAYER_ACCOUNT,),
    "bank gather": (Act.APPROVE_PAYOUT_FILE,),
    "bank void": (Act.VOID_PAYOUT_FILE,),
    "bank refuse": (Act.REFUSE_TRANSFERS,),
    "bank import": (Act.IMPORT_BANK_STATEMENT,),
    "bank withdraw": (Act.WITHDRAW_BANK_STATEMENT,),
    "bank decide": BANK_LINES,
    "bank approve": BANK,
    "settlements verify": (Act.VERIFY_BANK_ACCOUNT,),
    "settlements reject-account": (Act.REJECT_BANK_ACCOUNT,),
    "settlements stop-account": (Act.STOP_BANK_ACCOUNT,),
    "settlements cancel": (Act.CANCEL_SETTLEMENT,),
    "settlements collect": (Act.COLLECT_SETTLEMENT,),
    "settlements release": (Act.RELEASE_SETTLEMENTS,),
    "settlements approve": SETTLEMENT_ACTS,
    "hold": (Act.END_HOLD,),
    "restore fence": (Act.FENCE,),
    "restore release": (Act.RELEASE,),
}


# Commands that first say that nothing is sent while the installation is fenced or held: the log-in, which each operator
# repeats after a restore because the fence has ended all sessions, and commands about payments and keys that would
# otherwise seem to work as always. A restore takes dozens of others, which do not repeat it.
TOLD_OF_FENCE = frozenset(
    {"operators login", "payments unsettled", "payments show", "networks list", "key list", "key create", "hold"}
)


def needs_of(arguments: argparse.Namespace) -> SensitiveAct | None:
    """Which confirmation this command needs."""
    if arguments.act == "hold" and not arguments.release:
        return None  # Stopping the sending is urgent and safe: no password is asked for.
    return confirmation_of(DOES.get(arguments.act, ()))


class ApproveOnPages(Forbidden):
    """Two operators at one terminal are easily one person, so the second is sent to the pages first."""

    def __init__(self, page: str) -> None:
        super().__init__(
            f"Another operator approves it on the pages for operators: {page}. "
            "To approve it at this command line, with your own session: --here"
        )


def add_alone(act: Any) -> None:
    act.add_argument(
        "--alone", action="store_true", help="approve alone, if there is only one operator; the audit log records it"
    )


def add_here(act: Any) -> None:
    act.add_argument(
        "--here", action="store_true", help="approve at the command line instead of on the pages, with your own session"
    )


def require_here(arguments: argparse.Namespace, page: str) -> None:
    """Refuse to approve at the command line without --here: the second operator approves on the pages. With --alone
    there is no second operator."""
    if not arguments.here and not arguments.alone:
        raise ApproveOnPages(page)


def add_stdin(act: Any) -> None:
    """Add --stdin to a command that asks for the password, as the pages do: see `cli/reauthentication.py`."""
    if act.prog.removeprefix("malipo").strip() in DOES:
        act.add_argument("--stdin", action="store_true", help="read the password and the code from standard input")
