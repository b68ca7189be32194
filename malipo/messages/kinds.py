"""The kinds of messages: who gets each, whether it can be switched off, and how long it is worth sending. Pure.

One table. The sentences of each kind are in `mail/words.py`.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Kind(StrEnum):
    """Stored with messages and choices."""

    # About one's own account.
    INVITATION = "invitation"
    PASSWORD_LINK = "password_link"  # noqa: S105 - the name of a kind
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - the name of a kind
    NEW_PLACE = "new_place"
    SECOND_FACTOR_ENROLLED = "second_factor_enrolled"
    SECOND_FACTOR_REMOVED = "second_factor_removed"
    SECOND_FACTOR_RESET = "second_factor_reset"
    RECOVERY_CODES_MADE = "recovery_codes_made"
    ADDRESS_CHANGED = "address_changed"  # of an operator
    # About a merchant.
    KEY_CREATED = "key_created"
    BANK_ACCOUNT_ADDED = "bank_account_added"
    BANK_ACCOUNT_VERIFIED = "bank_account_verified"
    BANK_ACCOUNT_STOPPED = "bank_account_stopped"
    BATCH_WAITING = "batch_waiting"
    BATCH_FAILED = "batch_failed"
    PAYOUTS_FAILED = "payouts_failed"
    SETTLEMENT_COMPLETED = "settlement_completed"
    SETTLEMENT_RETURNED = "settlement_returned"
    INVOICE_ISSUED = "invoice_issued"
    ENDPOINT_DISABLED = "endpoint_disabled"
    WALLET_LOW = "wallet_low"
    DAILY_SUMMARY = "daily_summary"
    # About the service.
    PROPOSAL_WAITING = "proposal_waiting"


class Audience(StrEnum):
    ACCOUNT = "account"  # the person or the operator whom it concerns
    OPERATOR = "operator"  # the operator whom it concerns
    OWNERS = "owners"
    OWNERS_OF_LATE = "owners_of_late"  # also who has been an owner in the last 30 days
    APPROVERS = "approvers"  # people who may approve batches
    PAYERS = "payers"  # owners and staff: they make payouts, and look after webhooks
    PEOPLE = "people"  # all of a merchant
    OPERATORS = "operators"


class LinkTo(StrEnum):
    """What the single-use link of a message does. It is made when the message is sent."""

    PASSWORD = "password"  # noqa: S105 - what the link is for
    STOP = "stop"  # stops a bank account: also for those who can no longer log in


# How long somebody who is no owner any more is told of new bank accounts.
OF_LATE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class KindRule:
    audience: Audience
    is_always: bool = False  # it cannot be switched off: without it somebody could take an account, or money, unnoticed
    is_default: bool = True  # whether those get it who have chosen nothing
    # More of the same that happens within this time, or until it is sent, is one message.
    gathers: timedelta | None = None
    life: timedelta = timedelta(days=7)  # not sent later: it would be out of date
    link: LinkTo | None = None


_SOON = timedelta(minutes=2)
_A_WHILE = timedelta(minutes=15)
_A_DAY = timedelta(days=1)

KINDS: dict[Kind, KindRule] = {
    Kind.INVITATION: KindRule(Audience.ACCOUNT, is_always=True, life=timedelta(days=3), link=LinkTo.PASSWORD),
    Kind.PASSWORD_LINK: KindRule(Audience.ACCOUNT, is_always=True, life=timedelta(days=3), link=LinkTo.PASSWORD),
    Kind.PASSWORD_CHANGED: KindRule(Audience.ACCOUNT, is_always=True),
    Kind.NEW_PLACE: KindRule(Audience.ACCOUNT, is_always=True),
    Kind.SECOND_FACTOR_ENROLLED: KindRule(Audience.ACCOUNT, is_always=True),
    Kind.SECOND_FACTOR_REMOVED: KindRule(Audience.ACCOUNT, is_always=True),
    Kind.SECOND_FACTOR_RESET: KindRule(Audience.ACCOUNT, is_always=True),
    Kind.RECOVERY_CODES_MADE: KindRule(Audience.ACCOUNT, is_always=True),
    Kind.ADDRESS_CHANGED: KindRule(Audience.OPERATOR, is_always=True),
    Kind.KEY_CREATED: KindRule(Audience.OWNERS, is_always=True),
    Kind.BANK_ACCOUNT_ADDED: KindRule(Audience.OWNERS_OF_LATE, is_always=True, link=LinkTo.STOP),
    Kind.BANK_ACCOUNT_VERIFIED: KindRule(Audience.OWNERS_OF_LATE, is_always=True, link=LinkTo.STOP),
    Kind.BANK_ACCOUNT_STOPPED: KindRule(Audience.OWNERS_OF_LATE, is_always=True),
    Kind.BATCH_WAITING: KindRule(Audience.APPROVERS, gathers=_SOON, life=timedelta(days=2)),
    Kind.BATCH_FAILED: KindRule(Audience.PAYERS, life=timedelta(days=3)),
    Kind.PAYOUTS_FAILED: KindRule(Audience.PAYERS, gathers=_A_WHILE, life=timedelta(days=3)),
    Kind.SETTLEMENT_COMPLETED: KindRule(Audience.OWNERS),
    Kind.SETTLEMENT_RETURNED: KindRule(Audience.OWNERS),
    Kind.INVOICE_ISSUED: KindRule(Audience.OWNERS, life=timedelta(days=14)),
    Kind.ENDPOINT_DISABLED: KindRule(Audience.PAYERS),
    Kind.WALLET_LOW: KindRule(Audience.PEOPLE, is_default=False, life=_A_DAY),
    Kind.DAILY_SUMMARY: KindRule(Audience.PEOPLE, is_default=False, life=_A_DAY),
    Kind.PROPOSAL_WAITING: KindRule(Audience.OPERATORS, gathers=_SOON, life=timedelta(days=2)),
}

# Whoever holds the link of one of these can take an account.
PASSWORD_LINK_KINDS = tuple(kind for kind, rule in KINDS.items() if rule.link is LinkTo.PASSWORD)

# What each side can choose, in the order of its page.
OF_PEOPLE = tuple(
    kind
    for kind, rule in KINDS.items()
    if not rule.is_always and rule.audience not in (Audience.ACCOUNT, Audience.OPERATOR, Audience.OPERATORS)
)
OF_OPERATORS = tuple(kind for kind, rule in KINDS.items() if not rule.is_always and rule.audience is Audience.OPERATORS)
