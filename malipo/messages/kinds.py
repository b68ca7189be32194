"""The kinds of messages: who gets each, whether it can be switched off, and how long it is worth sending. Pure.

One table. The sentences of each kind are in `mail/words.py`.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class MessageKind(StrEnum):
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
    LOOK_AFTER_RESTORE = "look_after_restore"  # at bank accounts, schedule and settlements
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
    STOPPED_ACCOUNT_IN_FILE = "stopped_account_in_file"


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


# How long somebody who is no owner any more gets messages about new bank accounts.
OF_LATE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class MessageKindRule:
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

KINDS: dict[MessageKind, MessageKindRule] = {
    MessageKind.INVITATION: MessageKindRule(
        Audience.ACCOUNT, is_always=True, life=timedelta(days=3), link=LinkTo.PASSWORD
    ),
    MessageKind.PASSWORD_LINK: MessageKindRule(
        Audience.ACCOUNT, is_always=True, life=timedelta(days=3), link=LinkTo.PASSWORD
    ),
    MessageKind.PASSWORD_CHANGED: MessageKindRule(Audience.ACCOUNT, is_always=True),
    MessageKind.NEW_PLACE: MessageKindRule(Audience.ACCOUNT, is_always=True),
    MessageKind.SECOND_FACTOR_ENROLLED: MessageKindRule(Audience.ACCOUNT, is_always=True),
    MessageKind.SECOND_FACTOR_REMOVED: MessageKindRule(Audience.ACCOUNT, is_always=True),
    MessageKind.SECOND_FACTOR_RESET: MessageKindRule(Audience.ACCOUNT, is_always=True),
    MessageKind.RECOVERY_CODES_MADE: MessageKindRule(Audience.ACCOUNT, is_always=True),
    MessageKind.ADDRESS_CHANGED: MessageKindRule(Audience.OPERATOR, is_always=True),
    MessageKind.KEY_CREATED: MessageKindRule(Audience.OWNERS, is_always=True),
    MessageKind.BANK_ACCOUNT_ADDED: MessageKindRule(Audience.OWNERS_OF_LATE, is_always=True, link=LinkTo.STOP),
    MessageKind.BANK_ACCOUNT_VERIFIED: MessageKindRule(Audience.OWNERS_OF_LATE, is_always=True, link=LinkTo.STOP),
    MessageKind.BANK_ACCOUNT_STOPPED: MessageKindRule(Audience.OWNERS_OF_LATE, is_always=True),
    MessageKind.LOOK_AFTER_RESTORE: MessageKindRule(Audience.OWNERS, is_always=True, life=timedelta(days=14)),
    MessageKind.BATCH_WAITING: MessageKindRule(Audience.APPROVERS, gathers=_SOON, life=timedelta(days=2)),
    MessageKind.BATCH_FAILED: MessageKindRule(Audience.PAYERS, life=timedelta(days=3)),
    MessageKind.PAYOUTS_FAILED: MessageKindRule(Audience.PAYERS, gathers=_A_WHILE, life=timedelta(days=3)),
    MessageKind.SETTLEMENT_COMPLETED: MessageKindRule(Audience.OWNERS),
    MessageKind.SETTLEMENT_RETURNED: MessageKindRule(Audience.OWNERS),
    MessageKind.INVOICE_ISSUED: MessageKindRule(Audience.OWNERS, life=timedelta(days=14)),
    MessageKind.ENDPOINT_DISABLED: MessageKindRule(Audience.PAYERS),
    MessageKind.WALLET_LOW: MessageKindRule(Audience.PEOPLE, is_default=False, life=_A_DAY),
    MessageKind.DAILY_SUMMARY: MessageKindRule(Audience.PEOPLE, is_default=False, life=_A_DAY),
    MessageKind.PROPOSAL_WAITING: MessageKindRule(Audience.OPERATORS, gathers=_SOON, life=timedelta(days=2)),
    MessageKind.STOPPED_ACCOUNT_IN_FILE: MessageKindRule(Audience.OPERATORS, is_always=True),
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
