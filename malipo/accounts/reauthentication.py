"""Which acts need a recent re-authentication, and how recent. Pure.

A cookie or a token can be stolen. Acts that would give a thief lasting access, or more than the session has, need the
password again. Pages ask for it (`dashboard/reauthentication_pages.py`), programs send it to `POST
/merchant/auth/confirm`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from malipo.accounts.second_factor.check_code import TypedCode
from malipo.accounts.tokens import TOKEN_SECONDS
from malipo.errors import Forbidden, Invalid

# After this time without use, or since the last confirmation, every page asks for the password.
IDLE_LIMIT = timedelta(hours=12)
CONFIRMATION_LIFE = timedelta(days=7)
# If the account has a second factor, a log-in without a code counts as confirmed this long ago: too old for every act.
WITHOUT_CODE = timedelta(days=1)
# The last use of a session is stored at most this often.
NOTED_EVERY = timedelta(minutes=1)


class SensitiveAct(StrEnum):
    """The acts of routes and pages that need a confirmation. The tables of routes and pages name them."""

    PASSWORD_LINK = "password_link"  # noqa: S105 - makes one for somebody
    PEOPLE = "people"  # adds or removes people, or changes their roles
    API_KEYS = "api_keys"  # makes or revokes one, or changes what requests with one need
    SECOND_FACTOR = "second_factor"  # sets up a second factor, or makes recovery codes
    ADDRESS = "address"  # sends an operator's messages elsewhere, also those about the safety of the account
    PAYOUT = "payout"  # pays out more than MALIPO_CONFIRM_PAYOUT_AMOUNT in the dashboard
    BANK_ACCOUNT = "bank_account"  # adds one, to which the balance can be sent
    SETTLEMENT = "settlement"  # sends the balance to the bank, or lets a schedule do it
    PUBLIC_PROFILE = "public_profile"  # changes the name and the numbers that customers trust
    APPROVAL = "approval"  # approves a batch of payouts; of an operator: moves money (`approvals/act_rules.py`)


# How recent the confirmation must be. A program's log-in counts while its first token lives.
RECENT_IN_BROWSER = timedelta(minutes=10)
RECENT_BY_TOKEN = timedelta(seconds=TOKEN_SECONDS)


@dataclass(frozen=True, slots=True)
class Proof:
    """The password and code that a person enters to confirm an act."""

    password: str
    typed: TypedCode = TypedCode()  # the code, where there is a second factor


class WrongPassword(Invalid):
    code = "password_wrong"

    def __init__(self) -> None:
        super().__init__("The request has invalid fields.", details={"password": ["password is not right."]})


class ConfirmationRequired(Forbidden):
    code = "confirmation_required"

    def __init__(self) -> None:
        super().__init__(
            "This needs your password once more: send it to POST /merchant/auth/confirm, or log in again, and then "
            "send this again."
        )


def is_confirmed_in_browser(
    act: SensitiveAct | None, *, confirmed_at: datetime, last_used_at: datetime, now: datetime
) -> bool:
    """Whether a browser may continue without being asked. `act` is None for pages that only need a log-in."""
    if now - last_used_at > IDLE_LIMIT or now - confirmed_at > CONFIRMATION_LIFE:
        return False
    return act is None or now - confirmed_at <= RECENT_IN_BROWSER


def is_confirmed_by_token(act: SensitiveAct | None, *, confirmed_at: datetime, now: datetime) -> bool:
    return act is None or now - confirmed_at <= RECENT_BY_TOKEN
