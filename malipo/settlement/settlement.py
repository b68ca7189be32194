"""A settlement, its statuses, what each does to the money, and the errors about it. Pure.

A settlement takes an amount out of the wallet at once. What the bank gets is the amount without the fee. Nothing ends
a settlement but the bank's own word, or a cancellation while it is in no file to the bank.
"""

from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum

import msgspec

from malipo import money
from malipo.bank_evidence.perhaps_paid import KnownAtBank
from malipo.errors import Code, Conflict, Invalid, Missing
from malipo.ledger.accounts import Account, Move, Step

ID_PREFIX = "stl_"
BY_SCHEDULE = "schedule"  # instead of who made it


class SettlementStatus(StrEnum):
    REQUESTED = "REQUESTED"  # out of the wallet; in no file, or in one that is not approved
    SENT = "SENT"  # in an approved file: money can leave
    COMPLETED = "COMPLETED"  # the bank has booked the debit
    RETURNED = "RETURNED"  # the bank has refused it, or sent it back: it is in the wallet again
    CANCELLED = "CANCELLED"


# The money is in the wallet again.
ENDED_IN_WALLET = (SettlementStatus.RETURNED, SettlementStatus.CANCELLED)


class SettlementCause(StrEnum):
    """What happens to a settlement."""

    FILE_APPROVED = "file_approved"
    FILE_VOIDED = "file_voided"
    DEBITED = "debited"  # on the bank's statement
    GIVEN_BACK = "given_back"  # on the bank's statement, or refused by the bank
    WITHDRAWN = "withdrawn"  # by its merchant, or by operators
    ADOPTED = "adopted"  # debited, and the file that it was in was lost with a restore


S, C = SettlementStatus, SettlementCause
# Every other pair is refused.
TRANSITIONS: dict[tuple[SettlementStatus, SettlementCause], SettlementStatus] = {
    (S.REQUESTED, C.FILE_APPROVED): S.SENT,
    (S.REQUESTED, C.WITHDRAWN): S.CANCELLED,  # while it is in no file
    (S.REQUESTED, C.ADOPTED): S.COMPLETED,
    (S.SENT, C.FILE_VOIDED): S.REQUESTED,
    (S.SENT, C.DEBITED): S.COMPLETED,
    (S.SENT, C.GIVEN_BACK): S.RETURNED,
    (S.COMPLETED, C.GIVEN_BACK): S.RETURNED,
}
del S, C


class SettlementRefusal(Code):
    """Why something about a settlement is not done, for operators and for `bank`."""

    NO_SUCH = "settlement_no_such"
    WRONG_STATUS = "settlement_wrong_status"
    IN_A_FILE = "settlement_in_a_file"
    NOT_IN_FILE = "settlement_not_in_file"
    KNOWN_OTHERWISE = "settlement_known_otherwise"  # the same news with other facts
    KEY_USED = "settlement_key_used"
    NOT_RELEASED = "settlement_not_released"
    NOT_COMPARED = "settlement_not_compared"
    NOT_COVERED = "settlement_not_covered"
    NO_PAYER_ACCOUNT = "settlement_no_payer_account"  # so that no statement can cover the lost time
    HELD = "settlement_held"
    NOTHING_TO_RELEASE = "settlement_nothing_to_release"
    NOTHING_OWED = "settlement_nothing_owed"
    EVIDENCE = "settlement_evidence"


class NoSuchSettlement(Missing):
    code = "settlement_not_found"

    def __init__(self) -> None:
        super().__init__("There is no settlement with this id.")


class SettlementNotCancellable(Conflict):
    code = "settlement_not_cancellable"

    def __init__(self, status: SettlementStatus, *, is_perhaps_paid: bool = False) -> None:
        why = "it is in a file to the bank" if status is SettlementStatus.REQUESTED else f"this one is {status}"
        if is_perhaps_paid:
            why = "the bank's statement has a debit of it"
        super().__init__(f"A settlement can be cancelled while it is REQUESTED and in no file to the bank: {why}.")


class NothingToSettle(Invalid):
    code = "nothing_to_settle"

    def __init__(self, spendable: int, least: int) -> None:
        message = (
            f"The wallet can settle {money.display(spendable)} now, and the smallest settlement is "
            f"{money.display(least)}."
        )
        super().__init__("There is too little to settle.", details={"amount": [message]})


class NoBankAccount(Conflict):
    code = "no_bank_account"

    def __init__(self) -> None:
        super().__init__(
            "There is no bank account that can be used. An owner adds one in the dashboard; it is verified, and can be "
            "used some days later."
        )


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    id: str
    key: str  # the EndToEndId of the bank's files
    reference: str
    status: SettlementStatus
    amount: int  # out of the wallet, with the fee
    fee: int
    bank_account_id: str | None  # None: adopted from a bank's statement after a restore
    order_reference: str | None = None
    scheduled_on: date | None = None
    created_at: datetime
    created_by: str
    statement_line: int | None = None  # of its debit in the wallet's statement
    payout_file_id: str | None = None
    sent_at: datetime | None = None
    completed_at: datetime | None = None
    booked_on: date | None = None
    bank_reference: str | None = None
    returned_at: datetime | None = None
    return_reason: str | None = None
    return_booked_on: date | None = None
    return_bank_reference: str | None = None
    cancelled_at: datetime | None = None
    cancelled_by: str | None = None
    is_adopted: bool = False
    owed: int = 0
    borne: int = 0

    @property
    def net_amount(self) -> int:
        """What the bank gets."""
        return self.amount - self.fee

    @property
    def at_bank(self) -> KnownAtBank:
        return KnownAtBank(self.id, self.key, is_completed=self.completed_at is not None)

    @property
    def is_in_file(self) -> bool:
        return self.payout_file_id is not None

    @property
    def is_cancellable(self) -> bool:
        return self.status is SettlementStatus.REQUESTED and not self.is_in_file


def next_status(settlement: Settlement, cause: SettlementCause) -> SettlementStatus:
    """The status after this. A conflict if it cannot happen to this settlement now."""
    after = TRANSITIONS.get((settlement.status, cause))
    if after is None:
        raise Conflict(
            code=SettlementRefusal.WRONG_STATUS, id=settlement.id, status=settlement.status, what=cause.value
        )
    if cause is SettlementCause.WITHDRAWN and settlement.is_in_file:
        raise Conflict(code=SettlementRefusal.IN_A_FILE, id=settlement.id)
    return after


def moves_of(before: Settlement, cause: SettlementCause) -> tuple[Step, list[Move]] | None:
    """The moves of the money. None: it stays in `in_settlement`. A return of a completed settlement goes the way
    back through `in_settlement`, so that the wallet's statement has one line for amount and fee."""
    amount, bank = before.amount, before.net_amount
    back = Move(Account.IN_SETTLEMENT, Account.WALLET, amount)
    match cause:
        case SettlementCause.WITHDRAWN:
            return Step.END, [back]
        case SettlementCause.DEBITED | SettlementCause.ADOPTED:
            fees = _if_any(Account.IN_SETTLEMENT, Account.FEES, before.fee)
            return Step.END, [Move(Account.IN_SETTLEMENT, Account.BANK, bank), *fees]
        case SettlementCause.GIVEN_BACK if before.status is SettlementStatus.COMPLETED:
            return Step.RETURN, [*_back_from_bank(before), *_if_any(*_HOME, amount - before.owed - before.borne)]
        case SettlementCause.GIVEN_BACK:
            return Step.RETURN, [back]
    return None


def opening_moves(settlement: Settlement) -> list[Move]:
    return [Move(Account.WALLET, Account.IN_SETTLEMENT, settlement.amount)]


_HOME = (Account.IN_SETTLEMENT, Account.WALLET)


def _back_from_bank(before: Settlement) -> Sequence[Move]:
    """What the bank gives back of a completed one. What the wallet has not borne of an adopted one is not the
    merchant's: it goes where it is missing."""
    mine = before.net_amount - before.owed - before.borne
    return [
        *_if_any(Account.BANK, Account.SUSPENSE, before.owed),
        *_if_any(Account.BANK, Account.LOSSES, before.borne),
        *_if_any(Account.BANK, Account.IN_SETTLEMENT, mine),
        *_if_any(Account.FEES, Account.IN_SETTLEMENT, before.fee),
    ]


def _if_any(source: Account, target: Account, amount: int) -> list[Move]:
    return [Move(source, target, amount)] if amount else []
