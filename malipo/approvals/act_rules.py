"""The table of operators' acts: what each moves, when it takes two operators, and how recently each must have confirmed
that it is them. Pure.

Pages name the acts in `dashboard/operator/routes.py`, commands in `cli/authority.py`; both read the confirmation here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from malipo.accounts.reauthentication import SensitiveAct

# Within it, everything that an operator moves alone counts together: twenty small acts are a large one.
COUNTED = timedelta(hours=24)


class Act(StrEnum):
    """What an operator does. The names are stored with what was moved alone."""

    RESOLVE_OPEN_COLLECTION = "resolve_open_collection"
    RESOLVE_OPEN_PAYOUT = "resolve_open_payout"  # also: send one that resembles an adopted payout
    RESOLVE_REPORTED = "resolve_reported"  # failed although paid was reported; or sent before a restore, perhaps
    RESOLVE_ENDED = "resolve_ended"
    IMPORT = "import"  # a statement's file that an operator brings
    REJECT_IMPORT = "reject_import"  # or take one's own back: what the file says of payments is then dropped
    TOP_UP = "top_up"
    SETTLEMENT = "settlement"
    TRANSFER = "transfer"  # between a network and the bank
    BOOK_LINE = "book_line"  # of an exception, to an account of the house
    BOOK_PAYOUT_LINE = "book_payout_line"
    MATCH_LINE = "match_line"
    ADOPT_LINE = "adopt_line"
    NOTE = "note"
    UNDO = "undo"  # what one operator has done about an exception
    UNDO_OF_TWO = "undo_of_two"  # what two have done
    WITHDRAW_STATEMENT = "withdraw_statement"
    WITHDRAW_DOUBTED = "withdraw_doubted"  # malipo itself has proposed it: the worker has fetched the same lines
    UNDO_STATEMENT_BOOKING = "undo_statement_booking"
    CLOSE_DAY = "close_day"
    CLOSE_WITH_DIFFERENCE = "close_with_difference"
    FENCE = "fence"  # by hand: the database was restored
    RELEASE = "release"  # after a restore
    END_HOLD = "end_hold"
    CANCEL_PAYMENT = "cancel_payment"  # an unsent one, of a closed merchant or on a channel that is not connected
    CANCEL_UNREPORTED = "cancel_unreported"  # the same, while no worker reports what it carries
    SAVE_LAYOUT = "save_layout"  # how statements are read: columns, words of the status, whose account it is
    SET_TARIFF = "set_tariff"
    SET_CHARGE = "set_charge"  # what a network is expected to charge
    NOTE_READING = "note_reading"  # the balance that a network's own pages show
    CREATE_MERCHANT = "create_merchant"
    SWITCH_MERCHANT = "switch_merchant"  # deactivate or activate it
    VOUCH = "vouch"
    MAKE_KEY = "make_key"  # an API key of a merchant that cannot pay out; revoking one too
    MAKE_PAYING_KEY = "make_paying_key"
    ADD_PERSON = "add_person"
    MAKE_PASSWORD_LINK = "make_password_link"  # noqa: S105 - the name of an act
    RESET_SECOND_FACTOR = "reset_second_factor"  # of a merchant's person, or of an operator
    SET_OPERATOR_PASSWORD = "set_operator_password"  # noqa: S105 - the name of an act


class Two(StrEnum):
    """When an act takes two operators."""

    NEVER = "never"
    ABOVE = "above"  # with all that the operator has moved alone in 24 hours, more than the approval amount
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class ActRule:
    moves: str  # what is counted, in shillings
    two: Two
    needs: SensitiveAct = SensitiveAct.APPROVAL  # the confirmation of each of the two: password and code
    may_be_alone: bool = False  # where only one operator exists, with --alone; the audit log keeps it


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
    # What was set aside for it goes back to the wallet that it came from.
    Act.CANCEL_PAYMENT: ActRule(_NOTHING, Two.NEVER),
    Act.CANCEL_UNREPORTED: ActRule("the amount", Two.ALWAYS, may_be_alone=True),
    # What a file that is read so does to payments counts for its author too, as the import's.
    Act.SAVE_LAYOUT: ActRule(_NOTHING, Two.NEVER),
    Act.SET_TARIFF: ActRule(_NOTHING, Two.NEVER),  # Fees of payments to come; a quote tells the merchant before.
    Act.SET_CHARGE: ActRule(_NOTHING, Two.NEVER),
    Act.NOTE_READING: ActRule(_NOTHING, Two.NEVER),
    Act.CREATE_MERCHANT: ActRule(_NOTHING, Two.NEVER),
    Act.SWITCH_MERCHANT: ActRule(_NOTHING, Two.NEVER),
    Act.VOUCH: ActRule(_NOTHING, Two.NEVER),
    Act.MAKE_KEY: ActRule(_NOTHING, Two.NEVER, SensitiveAct.API_KEYS),
    # At any amount: it pays out every day, also what comes into the wallet later.
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
}

# Which of several acts a form or a command does is known only when the payment or the exception is read.
RESOLUTIONS = (
    Act.RESOLVE_OPEN_COLLECTION,
    Act.RESOLVE_OPEN_PAYOUT,
    Act.RESOLVE_REPORTED,
    Act.RESOLVE_ENDED,
    Act.CANCEL_UNREPORTED,
)
KEYS = (Act.MAKE_KEY, Act.MAKE_PAYING_KEY)
CANCELS = (Act.CANCEL_PAYMENT, Act.CANCEL_UNREPORTED)
EXCEPTION_ACTIONS = (Act.BOOK_LINE, Act.BOOK_PAYOUT_LINE, Act.MATCH_LINE, Act.ADOPT_LINE, Act.NOTE, *RESOLUTIONS)
EXCEPTION_UNDOS = (Act.UNDO, Act.UNDO_OF_TWO)
WITHDRAWALS = (Act.WITHDRAW_STATEMENT, Act.WITHDRAW_DOUBTED)
STATEMENT_UNDOS = (*WITHDRAWALS, Act.UNDO_STATEMENT_BOOKING)
BOOKINGS = (Act.TOP_UP, Act.SETTLEMENT, Act.TRANSFER)
CLOSES = (Act.CLOSE_DAY, Act.CLOSE_WITH_DIFFERENCE)


def takes_two(act: Act, amount: int, *, moved_alone: int, approval_amount: int) -> bool:
    """Whether this act takes two operators; `moved_alone` is what this one has moved alone within COUNTED."""
    match ACTS[act].two:
        case Two.NEVER:
            return False
        case Two.ALWAYS:
            return True
        case Two.ABOVE:
            return amount > 0 and moved_alone + amount > approval_amount


def confirmation_of(acts: Collection[Act]) -> SensitiveAct | None:
    """Which confirmation a form or a command needs that does one of these."""
    needed = {ACTS[act].needs for act in acts}
    assert len(needed) <= 1, "a form needs one confirmation"
    return next(iter(needed), None)
