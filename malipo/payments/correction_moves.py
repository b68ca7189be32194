"""Which moves a contradiction and a resolution book, when another outcome is reported after the end of a payment. Pure.

The status stays. Three things change, each at its own time:

- the network's float follows the latest report at once, against suspense: a report of the network, or of operators who
  have read its statement;
- the wallet follows when that is decided: automatically for a collection that was paid after all, else by operators;
- an amount that the wallet must still give back is owed; an amount that nobody gives back is booked to losses.

When nothing is due any more, nothing of this payment is left in suspense.
"""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.ledger.accounts import Account, Move, Step
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import CorrectionNotice, CorrectionReason, Status, Transaction, Type


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a payment's correction. It is stored only after a contradiction."""

    is_paid: bool  # by the latest report
    source: AnswerSource | None = None  # of the latest report; None: operators, from the network's statement
    is_fee_paid: bool
    credited: int = 0
    borne: int = 0
    owed: int = 0
    ordinal: int = 0
    notice_count: int = msgspec.field(default=0, name="told")  # notices to the merchant; the column's name
    latest: CorrectionNotice | None = None


class CorrectionChange(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a correction: its moves, and the reason why the merchant is notified, if there is one."""

    step: Step
    correction: Correction
    moves: list[Move]
    credited: int = 0
    borne: int = 0
    amount: int
    reason: CorrectionReason | None = None


def begin(transaction: Transaction) -> Correction:
    """The state before any contradiction, which follows from the status."""
    is_paid = transaction.status is Status.COMPLETED
    return Correction(is_paid=is_paid, is_fee_paid=is_paid)


def due(transaction: Transaction, correction: Correction) -> int:
    """The amount that the wallet must still get; negative if it must give it back."""
    return _target(transaction, correction.is_paid) - correction.credited - correction.borne


def is_open(transaction: Transaction, correction: Correction) -> bool:
    return due(transaction, correction) != 0


def is_credited_automatically(transaction: Transaction, correction: Correction) -> bool:
    """A collection is FAILED, and the customer has paid after all: the money is the merchant's in any case."""
    is_paid_after_all = transaction.status is not Status.COMPLETED and correction.is_paid
    return transaction.type is Type.COLLECTION and is_paid_after_all and due(transaction, correction) > 0


def is_contradicted_by_network(transaction: Transaction, correction: Correction) -> bool:
    """The network itself reports the opposite of the status. Operators cannot reverse its report."""
    return correction.is_paid != (transaction.status is Status.COMPLETED) and correction.source is not None


def contradict(
    transaction: Transaction, correction: Correction, *, is_paid: bool, source: AnswerSource | None
) -> CorrectionChange:
    """The network, or operators who have read its statement, report the opposite of the latest report."""
    assert is_paid != correction.is_paid, "a contradiction reports the opposite"
    borne = 0
    moves = [_float_move(transaction, is_paid=is_paid)]
    if is_paid == (transaction.status is Status.COMPLETED) and correction.borne:
        # The status was right after all, so what was booked to losses is reversed.
        borne = -correction.borne
        moves += _moves(borne, Account.LOSSES)
    after = replace(
        correction,
        is_paid=is_paid,
        source=source,
        borne=correction.borne + borne,
        ordinal=correction.ordinal + 1,
    )
    after, fee = _with_fee_when_settled(transaction, after)
    owed = max(-due(transaction, after), 0)
    return CorrectionChange(
        step=Step.CONTRADICTION,
        correction=replace(after, owed=owed),
        moves=moves + fee,
        borne=borne,
        reason=_reason_of_debt(correction.owed, owed),
        amount=abs(owed - correction.owed),
    )


def decide(
    transaction: Transaction, correction: Correction, *, is_paid: bool, available: int, is_waived: bool = False
) -> CorrectionChange:
    """Compute what follows when operators decide about a contradicted payment. If they confirm the latest report
    (`is_paid`), the wallet follows it; otherwise the amount is booked to losses. A wallet that holds less than it owes
    gives its balance; the rest stays owed until it is collected or waived."""
    target = _target(transaction, correction.is_paid)
    accepts_report = is_paid == correction.is_paid
    wanted = target if accepts_report else 0
    credited = 0 if is_waived else max(wanted - correction.credited, -available)
    total = target - correction.credited if is_waived else target - wanted
    borne = total - correction.borne
    after = replace(
        correction,
        credited=correction.credited + credited,
        borne=correction.borne + borne,
        ordinal=correction.ordinal + 1,
    )
    after, fee = _with_fee_when_settled(transaction, after)
    owed = max(-due(transaction, after), 0)
    reason, amount = _reason_of_decision(credited, correction.owed, owed)
    return CorrectionChange(
        step=Step.RESOLUTION,
        correction=replace(after, owed=owed),
        moves=[*_moves(credited, Account.WALLET), *_moves(borne, Account.LOSSES), *fee],
        credited=credited,
        borne=borne,
        reason=reason,
        amount=amount,
    )


def lend(amount: int) -> CorrectionChange:
    """Lend a wallet what it lacks for an adopted payout. The merchant owes it."""
    return CorrectionChange(
        step=Step.RESOLUTION,
        correction=Correction(is_paid=True, is_fee_paid=True, credited=amount, owed=amount, ordinal=1),
        moves=_moves(amount, Account.WALLET),
        credited=amount,
        reason=CorrectionReason.DEBT_RECORDED,
        amount=amount,
    )


def with_notice(change: CorrectionChange, now: datetime) -> CorrectionChange:
    """The change with its notice to the merchant, if there is a reason for one."""
    if change.reason is None:
        return change
    outcome = Status.COMPLETED if change.correction.is_paid else Status.FAILED
    before, latest = change.correction, CorrectionNotice(outcome, change.amount, now, change.reason)
    return replace(change, correction=replace(before, notice_count=before.notice_count + 1, latest=latest))


def _reason_of_debt(before: int, after: int) -> CorrectionReason | None:
    if after == before:
        return None
    return CorrectionReason.DEBT_RECORDED if after > before else CorrectionReason.DEBT_WITHDRAWN


def _reason_of_decision(credited: int, owed: int, owed_after: int) -> tuple[CorrectionReason | None, int]:
    if credited > 0:
        return CorrectionReason.CREDITED, credited
    if credited < 0:
        return CorrectionReason.DEBT_COLLECTED, -credited
    if owed_after < owed:
        return CorrectionReason.DEBT_WAIVED, owed - owed_after
    return (CorrectionReason.DEBT_RECORDED, owed_after - owed) if owed_after > owed else (None, 0)


def _with_fee_when_settled(transaction: Transaction, correction: Correction) -> tuple[Correction, list[Move]]:
    """The correction, and the moves of the fee: it follows the latest report once nothing is due any more."""
    if due(transaction, correction) or correction.is_fee_paid == correction.is_paid:
        return correction, []
    closed = replace(correction, is_fee_paid=correction.is_paid)
    return closed, _moves(transaction.fee if correction.is_paid else -transaction.fee, Account.FEES)


def _target(transaction: Transaction, is_paid: bool) -> int:
    """The change of the wallet, if this had been the outcome from the beginning."""
    was_completed = transaction.status is Status.COMPLETED
    change = transaction.net_amount if transaction.type is Type.COLLECTION else -transaction.amount - transaction.fee
    return change * (is_paid - was_completed)


def _moves(amount: int, account: Account) -> list[Move]:
    """Out of suspense into an account; the other way if the amount is negative."""
    if amount == 0:
        return []
    ends = (Account.SUSPENSE, account) if amount > 0 else (account, Account.SUSPENSE)
    return [Move(*ends, abs(amount))]


def _float_move(transaction: Transaction, *, is_paid: bool) -> Move:
    """A collection that is paid, and a payout that is not, are money that the network holds for us."""
    comes_in = is_paid == (transaction.type is Type.COLLECTION)
    ends = (Account.FLOAT, Account.SUSPENSE) if comes_in else (Account.SUSPENSE, Account.FLOAT)
    return Move(*ends, transaction.amount, transaction.channel)
