"""Stores and applies network answers: replies, answers to queries, callbacks, and lines of statements.

Each answer takes effect once: on the status of an open payment and its dispatch, or on the correction of a payment that
has ended. `network_answer/decide.py` decides what it means. A repeated answer changes nothing. A callback about a
payment that we do not have is stored for operators.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo import log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock, loop_time
from malipo.db import Tx
from malipo.networks.connector import Channel, Verdict
from malipo.payments import correction_moves, status_writer
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import AnswerSource, Decision, Dispatch, LatestAnswer, QueryRules, ReceivedAnswer
from malipo.payments.failure_reasons import detail_of, failure_reason_of
from malipo.payments.network_answer.decide import decide
from malipo.payments.status_writer import CorrectedTransaction, StatusChange
from malipo.payments.store import cases, dispatches, network_answers, transactions, unknown_callbacks
from malipo.payments.store.dispatches import PaymentRecord
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.store.unknown_callbacks import UnknownCallback
from malipo.payments.transaction import Cause, Status, Transaction


class AnswerResult(msgspec.Struct, frozen=True):
    """The effect of an answer: the transaction as it is now, and the status it was in before."""

    transaction: Transaction
    before: Status
    is_contradiction: bool = False
    is_merchant_notified: bool = False  # of a correction


class AnswerToApply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer about the payment that the network knows by this key, on one of these channels."""

    id: str  # generated before the first try, so that the answer is stored once
    channels: Sequence[Channel]
    key: str
    received: ReceivedAnswer
    asked_at: float | None = None  # when the query was sent, by the monotonic clock of this process


class ApplyNetworkAnswers:
    def __init__(self, *, clock: Clock, rules: QueryRules, credits_automatically: bool = True) -> None:
        self._clock = clock
        self._rules = rules
        self._credits_automatically = credits_automatically

    async def __call__(self, tx: Tx, reports: Sequence[AnswerToApply], /, *, again: bool) -> list[AnswerResult | None]:
        """What each answer did; None for a payment that we do not have."""
        now = self._clock()
        found = await dispatches.lock(tx, {(channel, each.key) for each in reports for channel in each.channels})
        records = [_record_of(report, found) for report in reports]
        received = [
            _stored_answer_of(report, record.transaction, now)
            for report, record in zip(reports, records, strict=True)
            if record is not None
        ]
        # An answer that an earlier try has stored, whose commit was not confirmed to us, counts once.
        new = await network_answers.insert(tx, received)
        unknown = [report for report, record in zip(reports, records, strict=True) if record is None]
        await unknown_callbacks.insert_unknown_callbacks(
            tx, [_unknown_callback_of(each, now) for each in unknown if each.received.source is AnswerSource.CALLBACK]
        )
        effects = AnswerEffects(found, self._rules, now, credits_automatically=self._credits_automatically)
        results = [
            effects.apply(record, _with_age(report), is_new=report.id in new) if record is not None else None
            for report, record in zip(reports, records, strict=True)
        ]
        await effects.write(tx)
        return results


def _record_of(report: AnswerToApply, found: dict[dispatches.NetworkKey, PaymentRecord]) -> PaymentRecord | None:
    """The payment that the answer is about; None if there is none, or if there are two."""
    records = [found[channel, report.key] for channel in report.channels if (channel, report.key) in found]
    return records[0] if len(records) == 1 else None


def _stored_answer_of(report: AnswerToApply, transaction: Transaction, now: datetime) -> StoredAnswer:
    answer = report.received.answer
    return StoredAnswer(
        id=report.id,
        merchant_id=transaction.merchant_id,
        transaction_id=transaction.id,
        received_at=now,
        connector=report.received.connector,
        source=report.received.source,
        verdict=answer.verdict,
        code=answer.code,
        detail=answer.detail,
    )


def _with_age(report: AnswerToApply) -> ReceivedAnswer:
    """The answer with how long ago its query was sent, because what was received since then may be newer."""
    if report.asked_at is None:
        return report.received
    age_seconds = loop_time() - report.asked_at
    return replace(report.received, age_seconds=age_seconds)


def _unknown_callback_of(report: AnswerToApply, now: datetime) -> UnknownCallback:
    answer = report.received.answer
    return UnknownCallback(
        id=report.id,
        received_at=now,
        connector=report.received.connector,
        network_key=report.key,
        amount=answer.amount,
        phone=answer.phone,
        provider_reference=answer.provider_reference,
        verdict=answer.verdict,
        code=answer.code,
        detail=answer.detail,
        is_signed=report.received.is_trusted,
    )


class AnswerEffects:
    """The effects of several answers. Each answer is decided against what the one before has left; then all effects
    are written together."""

    def __init__(
        self,
        found: dict[dispatches.NetworkKey, PaymentRecord],
        rules: QueryRules,
        now: datetime,
        *,
        credits_automatically: bool,
    ) -> None:
        self._current = {(each.transaction.merchant_id, each.transaction.id): each for each in found.values()}
        self._found = {key: each.transaction for key, each in self._current.items()}
        self._with_dispatch = {key for key, each in self._current.items() if each.dispatch is not None}
        self._rules = rules
        self._now = now
        self._credits_automatically = credits_automatically
        self._reached: list[Transaction] = []
        self._corrected: list[CorrectedTransaction] = []
        self._contradicted: list[tuple[Transaction, ReceivedAnswer, int]] = []
        self._credited: list[CorrectedTransaction] = []
        self._decided: dict[transactions.Key, tuple[Transaction, Decision]] = {}
        self._network_ids: dict[transactions.Key, str] = {}

    def apply(self, record: PaymentRecord, received: ReceivedAnswer, *, is_new: bool) -> AnswerResult:
        key = (record.transaction.merchant_id, record.transaction.id)
        transaction, dispatch, corrected, adopted_receipts = self._current[key]
        before = transaction.status
        if not is_new:
            return AnswerResult(transaction, before)
        last = None if corrected is None else LatestAnswer(corrected.is_paid, corrected.source)
        decision = decide(transaction, dispatch, received, self._rules, last=last, adopted_receipts=adopted_receipts)
        _log_review_reason(transaction, dispatch, decision)
        transaction = self._with_network_id(key, transaction, received)
        for cause in _causes(decision):
            change = self._change(transaction, received, decision, cause)
            after = status_writer.after_change(transaction, change, self._now)
            assert after is not None, "a decision leads somewhere"
            if after.status.is_final:
                self._with_dispatch.discard(key)  # The status writer deletes the dispatch of a payment that ends.
            self._reached.append(after)
            transaction = after
        is_merchant_notified = False
        if decision.is_contradiction:
            corrected, is_merchant_notified = self._correct(transaction, corrected, received)
        self._decided[key] = (transaction, decision)
        self._current[key] = PaymentRecord(transaction, decision.dispatch, corrected, adopted_receipts)
        return AnswerResult(transaction, before, decision.is_contradiction, is_merchant_notified)

    def _with_network_id(
        self, key: transactions.Key, transaction: Transaction, received: ReceivedAnswer
    ) -> Transaction:
        """Keep the network's own id of the payment for queries; the first id stays. The id in an unsigned callback is
        not kept: it could be another payment's, whose outcome would then be taken for this one's."""
        network_id = received.answer.network_id
        if network_id is None or not received.is_trusted or transaction.network_id is not None:
            return transaction
        self._network_ids[key] = network_id
        return replace(transaction, network_id=network_id)

    def _correct(
        self, transaction: Transaction, corrected: Correction | None, received: ReceivedAnswer
    ) -> tuple[Correction, bool]:
        """The float follows the network's report. A collection that was paid after all is credited automatically, if
        the report is signed or the answer to a query; otherwise operators decide."""
        before = corrected or correction_moves.begin(transaction)
        is_paid = received.answer.verdict is Verdict.CONFIRMED
        change = correction_moves.with_notice(
            correction_moves.contradict(transaction, before, is_paid=is_paid, source=received.source), self._now
        )
        self._corrected.append(CorrectedTransaction(transaction, change, before.owed))
        self._contradicted.append((transaction, received, change.correction.ordinal))
        is_merchant_notified, after = change.reason is not None, change.correction
        is_automatic = self._credits_automatically and received.is_trusted
        if is_automatic and correction_moves.is_credited_automatically(transaction, after):
            credit = correction_moves.decide(transaction, after, is_paid=True, available=0)
            credit = correction_moves.with_notice(credit, self._now)
            self._credited.append(CorrectedTransaction(transaction, credit, after.owed))
            self._corrected.append(self._credited[-1])
            is_merchant_notified, after = True, credit.correction
        return after, is_merchant_notified

    def _change(
        self, transaction: Transaction, received: ReceivedAnswer, decision: Decision, cause: Cause
    ) -> StatusChange:
        failure = decision.failure_code
        detail = None if failure is None else detail_of(failure, received.answer)
        return StatusChange(
            merchant_id=transaction.merchant_id,
            transaction_id=transaction.id,
            cause=cause,
            # A reference in an answer that does not end the payment may be wrong, and the merchant would see it.
            provider_reference=None if cause is Cause.SUBMITTED else received.answer.provider_reference,
            failure_code=failure,
            failure_reason=None if failure is None else failure_reason_of(failure, detail),
            failure_detail=detail,
            network_code=None if failure is None else received.answer.code or None,
        )

    async def write(self, tx: Tx) -> None:
        await status_writer.write(tx, self._found, self._reached, self._corrected, now=self._now)
        await self._write_dispatches(tx)
        await transactions.keep_network_ids(tx, self._network_ids)
        for transaction, received, ordinal in self._contradicted:
            await self._audit_contradiction(tx, transaction, received, ordinal)
        for each in self._credited:
            await cases.insert_automatic(tx, each.transaction, each.change, now=self._now)

    async def _write_dispatches(self, tx: Tx) -> None:
        changed: list[tuple[transactions.Key, Dispatch, float | None]] = []
        follow_ups: list[tuple[Transaction, Dispatch, float]] = []
        done: list[transactions.Key] = []
        for key, (transaction, decision) in self._decided.items():
            dispatch = decision.dispatch
            if dispatch is None:
                done.append(key)
            elif key in self._with_dispatch:
                changed.append((key, dispatch, decision.wait_seconds))
            else:
                follow_ups.append((transaction, dispatch, decision.wait_seconds or 0))
        await dispatches.delete(tx, [key for key in done if key in self._with_dispatch])
        await dispatches.update(tx, changed)
        await dispatches.follow_up(tx, follow_ups)

    async def _audit_contradiction(
        self, tx: Tx, transaction: Transaction, received: ReceivedAnswer, ordinal: int
    ) -> None:
        says = received.answer.verdict
        log.error("payment.contradicted", transaction=transaction.id, status=transaction.status, network_says=says)
        await audit_log.append(
            tx,
            Actor(f"network {received.connector}", received.source),
            "payment.contradicted",
            now=self._now,
            merchant_id=transaction.merchant_id,
            transaction=transaction.id,
            status=transaction.status,
            network_says=says,
            amount=transaction.amount,
            ordinal=ordinal,
        )


def _causes(decision: Decision) -> list[Cause]:
    if decision.cause is None:
        return []
    return [Cause.SUBMITTED, decision.cause] if decision.is_submitted_first else [decision.cause]


def _log_review_reason(transaction: Transaction, dispatch: Dispatch | None, decision: Decision) -> None:
    reason = decision.dispatch.review_reason if decision.dispatch is not None else None
    if reason is not None and (dispatch is None or dispatch.review_reason is not reason):
        log.warning("payment.needs_attention", transaction=transaction.id, why=reason)
