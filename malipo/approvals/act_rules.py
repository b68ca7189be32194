"""The rules of operators' acts: what each moves, when it takes two operators, and how recently each operator must have
confirmed the password. Pure.

Pages name the acts in `dashboard/operator/routes.py`, commands in `cli/authority.py`; both read the confirmation here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from malipo.accounts.reauthentication import SensitiveAct

# All amounts that an operator moves alone in this time count together, so twenty small acts count as a large one.
COUNTED = timedelta(hours=24)


class Act(StrEnum):
    """An act of an operator. The names are stored with the amounts that were moved alone."""

    RESOLVE_OPEN_COLLECTION = "resolve_open_collection"
    RESOLVE_OPEN_PAYOUT = "resolve_open_payout"  # also: send one that resembles an adopted payout
    RESOLVE_REPORTED = "resolve_reported"  # FAILED although a success was reported; or perhaps sent before a restore
    RESOLVE_ENDED = "resolve_ended"
    IMPORT = "import"  # a statement's file that an operator brings
    REJECT_IMPORT = "reject_import"  # or withdraw one's own: the file then has no effect on payments
    TOP_UP = "top_up"
    SETTLEMENT = "settlement"
    TRANSFER = "transfer"  # between a network and the bank
    SUSPENSE_RELEASE = "suspense_release"  # money in suspense turned out to be a merchant's
    SUSPENSE_TAKE_BACK = "suspense_take_back"  # it was not the merchant's
    BOOK_AT_BANK = "book_at_bank"  # interest, charges, taxes, other income
    BOOK_EQUITY = "book_equity"  # opening balances, and what the owners put in or take out
    BOOK_LINE = "book_line"  # of an exception, to an account of the house
    BOOK_PAYOUT_LINE = "book_payout_line"
    MATCH_LINE = "match_line"
    ADOPT_LINE = "adopt_line"
    NOTE = "note"
    UNDO = "undo"  # an action about an exception that one operator decided
    UNDO_OF_TWO = "undo_of_two"  # an action that two decided
    WITHDRAW_STATEMENT = "withdraw_statement"
    WITHDRAW_DOUBTED = "withdraw_doubted"  # proposed by malipo, because the worker fetched the same lines
    UNDO_STATEMENT_BOOKING = "undo_statement_booking"
    CLOSE_DAY = "close_day"
    CLOSE_WITH_DIFFERENCE = "close_with_difference"
    FENCE = "fence"  # by hand: the database was restored
    RELEASE = "release"  # after a restore
    END_HOLD = "end_hold"
    CANCEL_PAYMENT = "cancel_payment"  # an unsent one, of a closed merchant or on a channel that is not connected
    CANCEL_UNREPORTED = "cancel_unreported"  # the same, while no worker reports which channels it carries
    SAVE_LAYOUT = "save_layout"  # how statements are read: columns, words of the status, whose account it is
    SET_TARIFF = "set_tariff"
    SET_CHARGE = "set_charge"  # what a network is expected to charge
    NOTE_READING = "note_reading"  # the balance that a network's own pages show
    CREATE_MERCHANT = "create_merchant"
    SWITCH_MERCHANT = "switch_merchant"  # deactivate or activate it
    VOUCH = "vouch"
    VERIFY_BANK_ACCOUNT = "verify_bank_account"  # of a merchant: settlements can go there after a wait
    REJECT_BANK_ACCOUNT = "reject_bank_account"
    STOP_BANK_ACCOUNT = "stop_bank_account"
    CANCEL_SETTLEMENT = "cancel_settlement"  # one that is in no file to the bank
    COLLECT_SETTLEMENT = "collect_settlement"  # what a wallet owes of an adopted settlement; or write it off
    RELEASE_SETTLEMENTS = "release_settlements"  # after a restore
    MAKE_KEY = "make_key"  # make an API key that cannot pay out; or revoke any
    MAKE_PAYING_KEY = "make_paying_key"
    ADD_PERSON = "add_person"
    MAKE_PASSWORD_LINK = "make_password_link"  # noqa: S105 - the name of an act
    RESET_SECOND_FACTOR = "reset_second_factor"  # of a merchant's person, or of an operator
    SET_OPERATOR_PASSWORD = "set_operator_password"  # noqa: S105 - the name of an act
    GIVE_ROLE = "give_role"  # to another operator: who may approve, and who only reads
    ADD_PAYER_ACCOUNT = "add_payer_account"  # of our own bank; or change how its files are written and read
    APPROVE_PAYOUT_FILE = "approve_payout_file"
    VOID_PAYOUT_FILE = "void_payout_file"
    REFUSE_TRANSFERS = "refuse_transfers"  # of a payout file, which the bank has refused
    IMPORT_BANK_STATEMENT = "import_bank_statement"
    WITHDRAW_BANK_STATEMENT = "withdraw_bank_statement"
    BOOK_BANK_LINE = "book_bank_line"  # to an account of the house
    MATCH_BANK_LINE = "match_bank_line"  # with a settlement or a booking
    ADOPT_SETTLEMENT = "adopt_settlement"  # that the bank has paid, and a restored database did not send


class Two(StrEnum):
    """When an act takes two operators."""

    NEVER = "never"
    ABOVE = "above"  # if it is, with all that the operator moved alone in 24 hours, above the approval amount
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class ActRule:
    moves: str  # which amount counts, in words
    two: Two
    needs: SensitiveAct = SensitiveAct.APPROVAL  # each of the two confirms with password and code
    may_be_alone: bool = False  # if only one operator exists, with --alone; the audit log keeps that


_NOTHING = "nothing"

ACTS: dict[Act, ActRule] = {
    Act.RESOLVE_OPEN_COLLECTION: ActRule("the amount, if completed; nothing, if failed", Two.ABOVE, may_be_alone=True),
    Act.RESOLVE_OPEN_PAYOUT: ActRule("the amount", Two.ALWAYS),
    Act.RESOLVE_REPORTED: ActRule("the amount", Two.ALWAYS),
    Act.RESOLVE_ENDED: ActRule("the amount", Two.ALWAYS),
    Act.IMPORT: ActRule(
        "payments that the file alone would end, contradict or silence, and fees and sweeps that it books or unbooks",
        Two.ABOVE,
        may_be_alone=True,
    ),
    Act.REJECT_IMPORT: ActRule(_NOTHING, Two.NEVER),
    Act.TOP_UP: ActRule("the amount", Two.ABOVE, may_be_alone=True),
    Act.SETTLEMENT: ActRule("the amount", Two.ABOVE, may_be_alone=True),
    Act.TRANSFER: ActRule("the amount", Two.ABOVE, may_be_alone=True),
    Act.SUSPENSE_RELEASE: ActRule("the amount", Two.ALWAYS),
    Act.SUSPENSE_TAKE_BACK: ActRule("the amount", Two.ALWAYS),
    Act.BOOK_AT_BANK: ActRule("the amount", Two.ABOVE, may_be_alone=True),
    Act.BOOK_EQUITY: ActRule("the amount", Two.ALWAYS, may_be_alone=True),
    Act.BOOK_LINE: ActRule("what is booked; all of a line that becomes a payment's", Two.ABOVE, may_be_alone=True),
    Act.BOOK_PAYOUT_LINE: ActRule("what is booked", Two.ALWAYS),
    Act.MATCH_LINE: ActRule("what is booked", Two.ALWAYS),
    Act.ADOPT_LINE: ActRule("the line", Two.ALWAYS),
    Act.NOTE: ActRule(_NOTHING, Two.NEVER),
    Act.UNDO: ActRule("what is booked back", Two.ABOVE, may_be_alone=True),
    Act.UNDO_OF_TWO: ActRule("what is booked back", Two.ALWAYS),
    Act.WITHDRAW_STATEMENT: ActRule("what its bookings moved", Two.ALWAYS),
    Act.WITHDRAW_DOUBTED: ActRule("what its bookings moved", Two.ABOVE, may_be_alone=True),
    Act.UNDO_STATEMENT_BOOKING: ActRule("the booking", Two.ABOVE, may_be_alone=True),
    Act.CLOSE_DAY: ActRule(_NOTHING, Two.NEVER),
    Act.CLOSE_WITH_DIFFERENCE: ActRule("the difference is accepted", Two.ALWAYS),
    Act.FENCE: ActRule(_NOTHING, Two.NEVER),
    Act.RELEASE: ActRule("every payment that waits", Two.ALWAYS, may_be_alone=True),
    Act.END_HOLD: ActRule(_NOTHING, Two.NEVER),
    # The amount that was set aside goes back to the wallet it came from.
    Act.CANCEL_PAYMENT: ActRule(_NOTHING, Two.NEVER),
    Act.CANCEL_UNREPORTED: ActRule("the amount", Two.ALWAYS, may_be_alone=True),
    # The effects of a file that is read by it count for its author too, as those of an import.
    Act.SAVE_LAYOUT: ActRule(_NOTHING, Two.NEVER),
    Act.SET_TARIFF: ActRule(_NOTHING, Two.NEVER),  # Fees of future payments, which a quote shows to the merchant.
    Act.SET_CHARGE: ActRule(_NOTHING, Two.NEVER),
    Act.NOTE_READING: ActRule(_NOTHING, Two.NEVER),
    Act.CREATE_MERCHANT: ActRule(_NOTHING, Two.NEVER),
    Act.SWITCH_MERCHANT: ActRule(_NOTHING, Two.NEVER),
    Act.VOUCH: ActRule(_NOTHING, Two.NEVER),
    # A payout file takes two always, so an only operator has no use for the acts around it either.
    Act.VERIFY_BANK_ACCOUNT: ActRule("every settlement that will go there", Two.ALWAYS),
    # Nothing more is sent there, and the money stays in the wallet, or goes back to it.
    Act.REJECT_BANK_ACCOUNT: ActRule(_NOTHING, Two.NEVER),
    Act.STOP_BANK_ACCOUNT: ActRule(_NOTHING, Two.NEVER),
    Act.CANCEL_SETTLEMENT: ActRule(_NOTHING, Two.NEVER),
    Act.COLLECT_SETTLEMENT: ActRule("what is owed", Two.ALWAYS),
    Act.RELEASE_SETTLEMENTS: ActRule("every settlement that waits", Two.ALWAYS),
    Act.MAKE_KEY: ActRule(_NOTHING, Two.NEVER, SensitiveAct.API_KEYS),
    # At any amount: the key can pay out every day, also money that comes into the wallet later.
    Act.MAKE_PAYING_KEY: ActRule(
        "what the wallet holds or has in flight, up to the key's daily limit",
        Two.ALWAYS,
        SensitiveAct.API_KEYS,
        may_be_alone=True,
    ),
    Act.ADD_PERSON: ActRule(_NOTHING, Two.NEVER, SensitiveAct.PEOPLE),
    Act.MAKE_PASSWORD_LINK: ActRule(_NOTHING, Two.NEVER, SensitiveAct.PASSWORD_LINK),
    Act.RESET_SECOND_FACTOR: ActRule(_NOTHING, Two.NEVER, SensitiveAct.SECOND_FACTOR),
    Act.SET_OPERATOR_PASSWORD: ActRule(_NOTHING, Two.NEVER, SensitiveAct.PASSWORD_LINK),
    # An operator who gives roles alone could make a second operator, or be the only one.
    Act.GIVE_ROLE: ActRule(_NOTHING, Two.ALWAYS, SensitiveAct.PEOPLE, may_be_alone=True),
    # From where settlements are paid, and how the statements are read that decide about them.
    Act.ADD_PAYER_ACCOUNT: ActRule(_NOTHING, Two.ALWAYS),
    Act.APPROVE_PAYOUT_FILE: ActRule("all that the file pays", Two.ALWAYS),
    Act.VOID_PAYOUT_FILE: ActRule("all that would be paid again", Two.ALWAYS),
    Act.REFUSE_TRANSFERS: ActRule("what goes back to wallets", Two.ALWAYS),
    Act.IMPORT_BANK_STATEMENT: ActRule("settlements that the statement alone would end", Two.ABOVE, may_be_alone=True),
    Act.WITHDRAW_BANK_STATEMENT: ActRule(_NOTHING, Two.ALWAYS),
    Act.BOOK_BANK_LINE: ActRule("the line", Two.ABOVE, may_be_alone=True),
    Act.MATCH_BANK_LINE: ActRule("the line", Two.ALWAYS),
    Act.ADOPT_SETTLEMENT: ActRule("the line", Two.ALWAYS),
}

# A form or command may do one of several acts: which one is known only when the payment or exception is read.
RESOLUTIONS = (
    Act.RESOLVE_OPEN_COLLECTION,
    Act.RESOLVE_OPEN_PAYOUT,
    Act.RESOLVE_REPORTED,
    Act.RESOLVE_ENDED,
    Act.CANCEL_UNREPORTED,
)
OPEN_RESOLUTIONS = (Act.RESOLVE_OPEN_COLLECTION, Act.RESOLVE_OPEN_PAYOUT, Act.RESOLVE_REPORTED)  # of several together
KEYS = (Act.MAKE_KEY, Act.MAKE_PAYING_KEY)
CANCELS = (Act.CANCEL_PAYMENT, Act.CANCEL_UNREPORTED)
EXCEPTION_ACTIONS = (Act.BOOK_LINE, Act.BOOK_PAYOUT_LINE, Act.MATCH_LINE, Act.ADOPT_LINE, Act.NOTE, *RESOLUTIONS)
EXCEPTION_UNDOS = (Act.UNDO, Act.UNDO_OF_TWO)
WITHDRAWALS = (Act.WITHDRAW_STATEMENT, Act.WITHDRAW_DOUBTED)
STATEMENT_UNDOS = (*WITHDRAWALS, Act.UNDO_STATEMENT_BOOKING)
BOOKINGS = (
    Act.TOP_UP,
    Act.SETTLEMENT,
    Act.SUSPENSE_RELEASE,
    Act.SUSPENSE_TAKE_BACK,
    Act.TRANSFER,
    Act.BOOK_AT_BANK,
    Act.BOOK_EQUITY,
)
BANK_LINES = (Act.BOOK_BANK_LINE, Act.MATCH_BANK_LINE, Act.ADOPT_SETTLEMENT)
BANK = (
    Act.ADD_PAYER_ACCOUNT,
    Act.APPROVE_PAYOUT_FILE,
    Act.VOID_PAYOUT_FILE,
    Act.REFUSE_TRANSFERS,
    Act.IMPORT_BANK_STATEMENT,
    Act.WITHDRAW_BANK_STATEMENT,
    *BANK_LINES,
)
SETTLEMENT_ACTS = (Act.VERIFY_BANK_ACCOUNT, Act.COLLECT_SETTLEMENT, Act.RELEASE_SETTLEMENTS)
CLOSES = (Act.CLOSE_DAY, Act.CLOSE_WITH_DIFFERENCE)


def takes_two(act: Act, amount: int, *, moved_alone: int, approval_amount: int) -> bool:
    """Whether this act takes two operators. `moved_alone` is the amount that the operator moved alone within
    COUNTED."""
    match ACTS[act].two:
        case Two.NEVER:
            return False
        case Two.ALWAYS:
            return True
        case Two.ABOVE:
            return amount > 0 and moved_alone + amount > approval_amount


def confirmation_of(acts: Collection[Act]) -> SensitiveAct | None:
    """The confirmation that a form or command needs that may do any of these acts."""
    needed = {ACTS[act].needs for act in acts}
    assert len(needed) <= 1, "a form needs one confirmation"
    return next(iter(needed), None)
