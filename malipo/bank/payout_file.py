"""What may be done with a payout file, and when. Pure.

Money can leave from the approval on: whoever has downloaded the file can hand it in. So the bytes never change after
it, and a file is voided only if the bank certainly has not paid from it, or if nobody ever had its bytes. A payout file
pays settlements to bank accounts; payouts, which go to phones, are in none.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from malipo.bank.payer_account import FileFormat, PayerAccount
from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.coverage import Days, is_covered
from malipo.bank_formats import pain001, payout_csv
from malipo.bank_formats.transfer_order import FileOrder, TransferOrder
from malipo.errors import Code

ID_PREFIX = "pfl_"


class FileStatus(StrEnum):
    GATHERED = "GATHERED"  # waits for another operator; nothing of it can be paid
    APPROVED = "APPROVED"  # its bytes are fixed, and money can leave
    VOIDED = "VOIDED"  # rejected before the approval, or certainly not paid after it


class FileAct(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    DOWNLOAD = "download"
    REFUSE = "refuse"  # note which of its transfers the bank has refused
    VOID = "void"


# What becomes of the file. A pair that is not here is refused.
ALLOWED: dict[tuple[FileStatus, FileAct], FileStatus] = {
    (FileStatus.GATHERED, FileAct.APPROVE): FileStatus.APPROVED,
    (FileStatus.GATHERED, FileAct.REJECT): FileStatus.VOIDED,
    (FileStatus.APPROVED, FileAct.DOWNLOAD): FileStatus.APPROVED,
    (FileStatus.APPROVED, FileAct.REFUSE): FileStatus.APPROVED,
    (FileStatus.APPROVED, FileAct.VOID): FileStatus.VOIDED,
}


class FileRefusal(Code):
    NO_SUCH = "payout_file_unknown"
    NOTHING_DUE = "payout_file_nothing_due"
    NOTHING_LEFT = "payout_file_nothing_left"
    UNKNOWN_DEBITS = "payout_file_unknown_debits"
    IS_GATHERED = "payout_file_gathered"
    IS_APPROVED = "payout_file_approved"
    IS_VOIDED = "payout_file_voided"
    NOT_COVERED = "payout_file_not_covered"
    IS_PAID = "payout_file_paid"
    OTHER_MESSAGE = "payout_file_other_message"
    NO_LINE = "payout_file_no_line"
    LINE_ENDED = "payout_file_line_ended"
    NOT_MARKED = "payout_file_not_marked"
    HANDED_IN = "payout_file_handed_in"
    ACCOUNT_HELD = "payout_file_account_held"
    ACCOUNT_STOPPED = "payout_file_account_stopped"
    ASKED_FOR = "payout_file_asked_for"
    RESTORED_SINCE = "payout_file_restored_since"


IS_NOW = {
    FileStatus.GATHERED: FileRefusal.IS_GATHERED,
    FileStatus.APPROVED: FileRefusal.IS_APPROVED,
    FileStatus.VOIDED: FileRefusal.IS_VOIDED,
}


class PayoutFile(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    payer_account_id: str
    status: FileStatus
    line_count: int
    total: int
    gathered_by: str
    gathered_at: datetime
    message_id: str | None = None  # from the approval on
    sha256: bytes | None = None
    pays_on: date | None = None
    approved_by: str | None = None
    approved_at: datetime | None = None
    downloaded_at: datetime | None = None  # the last time: from then on it can be handed in
    voided_by: str | None = None
    voided_at: datetime | None = None
    why_voided: str | None = None


class FileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A settlement in a file, with all that the file says of it."""

    file_id: str
    settlement_id: str
    merchant_id: str
    reference: str
    key: str
    amount: int  # that is transferred: the settlement's net amount
    bic: str
    account: str
    name: str
    left_at: datetime | None = None  # it is no longer in the file: dropped at the approval, or the file was voided
    why_left: str | None = None
    refused_at: datetime | None = None  # the bank's answer lists it as refused
    why_refused: str | None = None

    @property
    def transfer(self) -> TransferOrder:
        text = f"Settlement {self.reference}"
        return TransferOrder(
            key=self.key, amount=self.amount, name=self.name, bic=self.bic, account=self.account, text=text
        )


def order_of(
    account: PayerAccount, lines: Sequence[FileLine], *, message_id: str, created_at: datetime, pays_on: date
) -> FileOrder:
    """The order of these lines, sorted so that the same lines always have the same bytes."""
    return FileOrder(
        message_id=message_id,
        created_at=created_at,
        pays_on=pays_on,
        payer_name=account.name,
        payer_bic=account.bic,
        payer_account=account.number,
        books_one_sum=account.books_one_sum,
        urgent_above=account.urgent_above,
        transfers=tuple(each.transfer for each in sorted(lines, key=lambda each: each.settlement_id)),
    )


def bytes_of(account: PayerAccount, order: FileOrder) -> bytes:
    return pain001.write(order) if account.format is FileFormat.PAIN001 else payout_csv.write(order, account.csv_layout)


def name_of(file: PayoutFile, content: bytes) -> str:
    """The name under which it is downloaded. The account may take another format by now."""
    return f"{file.message_id}.{'xml' if content.startswith(b'<?xml') else 'csv'}"


class FileTrace(NamedTuple):
    """A line of a statement that is perhaps of a file."""

    names_file: bool  # it has the MsgId or one of the keys
    names_settlement: bool  # it has a key of ours
    cents: int


def is_perhaps_paid(file: PayoutFile, lines: Iterable[FileLine], traces: Iterable[FileTrace]) -> bool:
    """Whether one of the traces is the file, or a transfer of it: it names it, or it is a debit that names no
    settlement and is as much as a transfer of the file, or as all of them. Not every bank's statement has keys."""
    amounts = [each.amount for each in lines if each.left_at is None and each.refused_at is None]
    debits = {-100 * each for each in (*amounts, sum(amounts), file.total)}
    return any(each.names_file or (not each.names_settlement and each.cents in debits) for each in traces)


def days_to_pay(approved_on: date, downloaded_on: date | None, banking_days: BankingDays) -> Days:
    """The days on which the bank may have booked a file. Who has downloaded it can have handed it in that day."""
    return approved_on, banking_days.booked_by(downloaded_on or approved_on)


def why_not_void_unseen(*, is_paid: bool, is_asked_for: bool, is_restored_since: bool) -> FileRefusal | None:
    """Why an approved file cannot be voided now because nobody ever had its bytes; None if it can. A restore since the
    approval may have lost that somebody had them."""
    if is_paid:
        return FileRefusal.IS_PAID
    if is_asked_for:
        return FileRefusal.ASKED_FOR
    return FileRefusal.RESTORED_SINCE if is_restored_since else None


def why_not_void(
    file: PayoutFile, *, refusal: str | None, days: Days, covered: Sequence[Days], is_paid: bool
) -> FileRefusal | None:
    """Why an approved file cannot be voided now; None if it can.

    `refusal` is the bank's refusal of this file in the operators' words; None: the statements of its `days` (see
    `days_to_pay`) show that it was not paid. `is_paid` says that a line of a statement is perhaps of it
    (`is_perhaps_paid`), or that one of its transfers has ended as paid.
    """
    if is_paid:
        return FileRefusal.IS_PAID
    if refusal is not None:
        assert file.message_id is not None
        return None if file.message_id in refusal else FileRefusal.OTHER_MESSAGE
    return None if is_covered(covered, *days) else FileRefusal.NOT_COVERED
