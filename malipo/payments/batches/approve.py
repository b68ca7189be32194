"""Approves batches: the whole sum is reserved and every payout is opened in one commit, or nothing happens.

The row of the batch is locked first. So of two approvals, or of an approval and a cancellation, one comes after the
other, and a second try after a lost connection finds what the first one did.

Payouts that the batch pays again are locked next. While it waited for approval, a network may have reported that one of
them was paid after all: then nothing of the batch is approved.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo import ids
from malipo.accounts.four_eyes import are_two
from malipo.audit_log import store as audit_log
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Conflict, Details, Forbidden, Refusal
from malipo.ledger.store import wallets as ledger
from malipo.merchants import four_eyes
from malipo.merchants.store import approval_rules
from malipo.payments import status_writer
from malipo.payments.batches import retry_failed_items
from malipo.payments.batches.batch import Batch, BatchItem, BatchStatus, NoSuchBatch, Requester
from malipo.payments.batches.store import batches, items, payouts
from malipo.payments.batches.store.payouts import KnownPayment
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.limits import batch_key_limits
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.refunds.reserve import Reservations
from malipo.payments.retried_outcome import RetriedOutcome
from malipo.payments.store import retries
from malipo.payments.transaction import Status, Transaction, Type
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation


class SecondPersonRequired(Forbidden):
    code = "second_person_required"

    def __init__(self) -> None:
        super().__init__("Somebody else must approve it: not who made it, nor an API key that they made.")


class SecondPersonWaits(Forbidden):
    code = "second_person_waits"

    def __init__(self) -> None:
        super().__init__(
            "Somebody else has invited one of the two people, made a link for their password or reset their second "
            "factor. Until an owner who had no part in it vouches for it, or for 72 hours, they are no second person."
        )


class MerchantsPersonRequired(Forbidden):
    code = "second_person_required"

    def __init__(self) -> None:
        super().__init__(
            "Both API keys were made by operators of the service. One of the two must be a person of the merchant, or "
            "a key that one of them made."
        )


class NotApprovable(Conflict):
    code = "batch_not_approvable"

    def __init__(self, status: BatchStatus) -> None:
        super().__init__(f"Only a batch that awaits approval can be approved; this one is {status}.")


class KeyPaidElsewhere(Conflict):
    """Operators adopted the payment of a line for another merchant, or as something else."""

    code = "batch_not_approvable"

    def __init__(self, index: int) -> None:
        super().__init__(
            f"Item {index + 1} was paid before the service was restored, and is not booked as yours yet. Nothing was "
            "approved; the operators of the service must look at it."
        )


class PaidAfterAll(Conflict):
    """A network reports of payouts that failed, and that lines pay again, that they were paid."""

    code = "payout_paid_after_all"

    def __init__(self, retried: Mapping[int, str]) -> None:
        super().__init__(
            "Payouts that this batch pays again were paid after all, their networks report. Nothing was approved: "
            "cancel the batch, and make it anew without these lines.",
            details=_details(retried, "was paid after all"),
            lines=_lines(retried),
        )


class PaidPerhaps(Conflict):
    """Somebody reports so, and it is not decided."""

    code = "payout_in_doubt"

    def __init__(self, retried: Mapping[int, str]) -> None:
        super().__init__(
            "Payouts that this batch pays again may have been paid after all: this is being found out. Nothing was "
            "approved: try again later, or cancel the batch and make it anew without these lines.",
            details=_details(retried, "may have been paid"),
            lines=_lines(retried),
        )


def _details(retried: Mapping[int, str], event: str) -> Details:
    return {f"items[{index}]": [f"It pays {id_} again, which {event}."] for index, id_ in retried.items()}


def _lines(retried: Mapping[int, str]) -> str:
    return ", ".join(str(index + 1) for index in sorted(retried))


class Approval(msgspec.Struct, frozen=True):
    merchant_id: str
    batch_id: str
    requester: Requester  # they have the right to approve: the caller has checked it


class ApprovedBatch(msgspec.Struct, frozen=True):
    batch: Batch
    opened: Sequence[Transaction] = ()  # its payouts, if it was approved now; empty: it was before


class ApproveBatch:
    def __init__(self, *, clock: Clock, terms: PaymentTerms) -> None:
        self._clock = clock
        self._terms = terms

    async def __call__(
        self, tx: Tx, approvals: Sequence[Approval], /, *, again: bool
    ) -> list[ApprovedBatch | Refusal | IntakeClosed]:
        return [await self._approve(tx, approval) for approval in approvals]

    async def _approve(self, tx: Tx, approval: Approval) -> ApprovedBatch | Refusal | IntakeClosed:
        state = await installation.get(tx)
        if state.takes_no_payments:
            return state.refusal
        batch = await batches.lock(tx, approval.merchant_id, approval.batch_id)
        if batch is None:
            return NoSuchBatch()
        takes_two = (await approval_rules.get(tx, approval.merchant_id, now=self._clock())).takes_two
        if takes_two and not are_two([], batch.maker, approval.requester.person):
            return SecondPersonRequired()
        if batch.approved_at is not None:
            return ApprovedBatch(batch)  # Approved already: the caller has what they asked for.
        if batch.status is not BatchStatus.AWAITING_APPROVAL:
            return NotApprovable(batch.status)
        if takes_two and not four_eyes.is_one_of_merchant(batch.maker, approval.requester.person):
            return MerchantsPersonRequired()
        if takes_two and await self._is_one_waiting(tx, batch, approval.requester):
            return SecondPersonWaits()
        if await self._is_not_paying(tx, approval):
            return four_eyes.NotVouchedFor()
        return await self._open(tx, batch, approval.requester)

    async def _is_one_waiting(self, tx: Tx, batch: Batch, requester: Requester) -> bool:
        """Whether one of the two may be somebody else, who has made or reset their account."""
        resets = await four_eyes.find_open(tx, batch.merchant_id, now=self._clock())
        return not are_two(resets, batch.maker, requester.person)

    async def _is_not_paying(self, tx: Tx, approval: Approval) -> bool:
        """Whether an operator may be who approves, also where the merchant lets one person approve. A key that the
        person made before the reset works on."""
        if approval.requester.id != approval.requester.person:
            return False
        not_paying = await four_eyes.find_not_paying(tx, approval.merchant_id, now=self._clock())
        return approval.requester.person in not_paying

    async def _open(self, tx: Tx, batch: Batch, requester: Requester) -> ApprovedBatch | Refusal:
        every = lines = await items.find_all(tx, batch)
        known = await payouts.find_known(tx, lines)
        if (refusal := _wrongly_adopted(batch, lines, known)) is not None:
            return refusal
        lines = [item for item in lines if item.index not in known]
        retried = await retry_failed_items.find_retried(tx, batch, lines)
        if retried and (refusal := await _why_not_again(tx, batch, retried)) is not None:
            return refusal
        lines = [_naming(item, retried.get(item.index, ())) for item in lines]
        now = self._clock()
        approved = replace(
            batch,
            status=BatchStatus.RUNNING,
            approved_at=now,
            approved_by=requester.id,
            approver=requester.person,
            first_payout_id=ids.first_of_series("txn_", now),
            adopted_count=len(known),
        )
        opened = await _with_refunds(tx, [self._payout_of(approved, item, now) for item in lines])
        if isinstance(opened, Refusal):
            return opened
        wallets = await ledger.lock(tx, [batch.merchant_id])
        if await payouts.find_known(tx, every) != known:
            # Operators adopted one of its lines while this waited for the wallet. No other is adopted from here on.
            return await self._open(tx, batch, requester)
        wallet = wallets[batch.merchant_id]
        used = await batch_key_limits.find(tx, batch, requester, now=now)
        if (refusal := used.count_against_limits(lines)) is not None:
            return refusal
        needed = sum(item.amount + item.fee for item in lines)
        if needed > wallet.spendable:
            return InsufficientBalance(needed, wallet, subject="batch")
        await status_writer.open_all(tx, opened, wallets, now=now)
        await used.save(tx)
        await items.set_adopted(tx, approved, {index: found.payment.id for index, found in known.items()})
        await batches.approve(tx, approved)
        await self._note(tx, approved, requester, now)
        return ApprovedBatch(approved, opened)

    def _payout_of(self, batch: Batch, item: BatchItem, now: datetime) -> Transaction:
        return Transaction(
            merchant_id=batch.merchant_id,
            id=batch.payout_id(item.index),
            reference=self._terms.reference_of(item.network_key),
            network_key=item.network_key,
            type=Type.DISBURSEMENT,
            channel=item.channel,
            status=Status.PENDING,
            amount=item.amount,
            fee=item.fee,
            phone=item.phone,
            name=item.name,
            description=item.description,
            metadata={},
            created_at=now,
            created_by=batch.created_by,
            is_key_derived=True,  # After a restore it may have been sent before, by an approval that was lost.
            order_reference=item.order_reference,
            refund_of=item.refund_of,
            batch_id=batch.id,
            retry_of=item.retry_of,
        )

    @staticmethod
    async def _note(tx: Tx, batch: Batch, requester: Requester, now: datetime) -> None:
        if requester.actor is not None:
            await audit_log.append(
                tx,
                requester.actor,
                "batch.approved",
                now=now,
                merchant_id=batch.merchant_id,
                batch=batch.id,
                items=batch.item_count,
                amount=batch.amount,
            )


def _wrongly_adopted(batch: Batch, lines: Sequence[BatchItem], known: Mapping[int, KnownPayment]) -> Refusal | None:
    """Refuse if an adopted payment differs from its line. An approval that a restore has lost had paid that line; if
    the payment is equal to the line, the batch goes on without the line."""
    for item in lines:
        if (found := known.get(item.index)) is not None:
            paid = found.payment
            is_this = (paid.merchant_id, paid.type, paid.amount) == (batch.merchant_id, Type.DISBURSEMENT, item.amount)
            if not is_this or found.is_undone:
                return KeyPaidElsewhere(item.index)
    return None


def _naming(item: BatchItem, retried: Collection[str]) -> BatchItem:
    """The item with the payout that it pays again, where only one is meant."""
    return replace(item, retry_of=next(iter(retried))) if len(retried) == 1 else item


async def _why_not_again(tx: Tx, batch: Batch, retried: Mapping[int, Collection[str]]) -> Refusal | None:
    """Why lines that pay again what has failed are not approved. A report that one was paid is seen here, or is written
    after the commit: then the worker finds it before it sends (`payments/withhold_duplicate_payouts.py`)."""
    outcomes = await retries.lock(tx, {(batch.merchant_id, each) for ids_ in retried.values() for each in ids_})
    for state, why in ((RetriedOutcome.PAID, PaidAfterAll), (RetriedOutcome.IN_DOUBT, PaidPerhaps)):
        wrong = {
            index: id_
            for index, ids_ in retried.items()
            for id_ in sorted(ids_)
            if outcomes[batch.merchant_id, id_] is state
        }
        if wrong:
            return why(wrong)
    return None


async def _with_refunds(tx: Tx, payouts: Sequence[Transaction]) -> list[Transaction] | Refusal:
    """The payouts, with those that refund a collection reserved there; or why one of them cannot be refunded by now."""
    reservations = await Reservations.lock(tx, payouts)
    opened: list[Transaction] = []
    for payout in payouts:
        if payout.refund_of is not None:
            refund = reservations.take(payout)
            if isinstance(refund, Refusal):
                return refund
            reservations.add(refund)
            opened.append(refund)
        else:
            opened.append(payout)
    return opened
