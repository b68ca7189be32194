"""Cancels settlements that are in no file to the bank: the amount is in the wallet again."""

from collections.abc import Sequence

import msgspec

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank_evidence.store import debits
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Refusal
from malipo.restore.installation import DatabaseRestored, IntakeClosed
from malipo.restore.store import installation
from malipo.settlement import release
from malipo.settlement.settlement import (
    NoSuchSettlement,
    Settlement,
    SettlementCause,
    SettlementNotCancellable,
    SettlementStatus,
)
from malipo.settlement.store import settlements
from malipo.settlement.write_status import SettlementChange, write_changes


class SettlementCancellation(msgspec.Struct, frozen=True):
    merchant_id: str
    settlement_id: str
    by: str  # the id of an API key, the email of a person, or an operator
    actor: Actor | None = None


class CancelSettlements:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(
        self, tx: Tx, cancellations: Sequence[SettlementCancellation], /, *, again: bool
    ) -> list[Settlement | Refusal | IntakeClosed]:
        if (closed := await installation.why_not_cancel(tx)) is not None:
            return [closed for _ in cancellations]
        found = await settlements.lock(tx, {each.settlement_id for each in cancellations})
        answers: list[Settlement | Refusal | IntakeClosed] = []
        for each in cancellations:
            answer = await self._cancel(tx, each, found.get(each.settlement_id))
            if isinstance(answer, Settlement):
                found[answer.id] = answer
            answers.append(answer)
        return answers

    async def _cancel(
        self, tx: Tx, cancellation: SettlementCancellation, before: Settlement | None
    ) -> Settlement | Refusal | IntakeClosed:
        if before is None or before.merchant_id != cancellation.merchant_id:
            return NoSuchSettlement()
        # Cancelling what is already cancelled is no error: the merchant has what they want.
        if before.status is SettlementStatus.CANCELLED:
            return before
        if not before.is_cancellable:
            return SettlementNotCancellable(before.status)
        if not await release.is_released(tx):
            return DatabaseRestored()  # A file with it may have been lost, and the bank has paid it.
        if await release.count_lost_debits(tx):
            return DatabaseRestored()  # Perhaps that debit is of the lost file.
        # A debit that operators could only book, because it has another amount, keeps no money of the merchant.
        if await debits.find_perhaps_paid(tx, [before.at_bank], also_booked=False):
            return SettlementNotCancellable(before.status, is_perhaps_paid=True)
        now = self._clock()
        facts = {"cancelled_at": now, "cancelled_by": cancellation.by}
        [done] = await write_changes(tx, [SettlementChange(before, SettlementCause.WITHDRAWN, facts)], now=now)
        if cancellation.actor is not None:
            await audit_log.append(
                tx,
                cancellation.actor,
                "settlement.cancelled",
                now=now,
                merchant_id=done.merchant_id,
                settlement=done.id,
                amount=done.amount,
            )
        return done
