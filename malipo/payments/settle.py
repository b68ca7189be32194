"""Takes in network answers: replies, answers to queries, and callbacks.

Each is stored, and has its effects once. A repeated or late answer changes nothing. A callback about a payment that we
do not have is stored for operators. What an answer does is in `answer_effects.py`.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.clock import Clock
from malipo.db import Tx
from malipo.networks.connector import Channel
from malipo.payments.answer_effects import AnswerEffects, Settled
from malipo.payments.dispatch import AnswerSource, ReceivedAnswer, Rules
from malipo.payments.store import dispatches, network_answers, unknown_callbacks
from malipo.payments.store.dispatches import Subject
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.store.unknown_callbacks import UnknownCallback
from malipo.payments.transaction import Transaction


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """An answer about the payment that the network knows by this key, on one of these channels."""

    id: str  # generated before the first try, so that the answer is stored once
    channels: Sequence[Channel]
    key: str
    received: ReceivedAnswer
    asked_at: float | None = None  # when the query was sent, by the monotonic clock of this process


class Settle:
    def __init__(self, *, clock: Clock, rules: Rules, credits_automatically: bool = True) -> None:
        self._clock = clock
        self._rules = rules
        self._credits_automatically = credits_automatically

    async def __call__(self, tx: Tx, reports: Sequence[Report], /, *, again: bool) -> list[Settled | None]:
        """What each answer did; None for a payment that we do not have."""
        now = self._clock()
        found = await dispatches.lock(tx, {(channel, each.key) for each in reports for channel in each.channels})
        subjects = [_subject_of(report, found) for report in reports]
        received = [
            _stored_answer_of(report, subject.transaction, now)
            for report, subject in zip(reports, subjects, strict=True)
            if subject is not None
        ]
        # An answer that an earlier try has stored, whose commit was not confirmed to us, counts once.
        new = await network_answers.insert(tx, received)
        unknown = [report for report, subject in zip(reports, subjects, strict=True) if subject is None]
        await unknown_callbacks.insert(
            tx, [_unknown_callback_of(each, now) for each in unknown if each.received.source is AnswerSource.CALLBACK]
        )
        effects = AnswerEffects(found, self._rules, now, credits_automatically=self._credits_automatically)
        settled = [
            effects.apply(subject, _with_age(report), is_new=report.id in new) if subject is not None else None
            for report, subject in zip(reports, subjects, strict=True)
        ]
        await effects.write(tx)
        return settled


def _subject_of(report: Report, found: dict[dispatches.NetworkKey, Subject]) -> Subject | None:
    """The payment that the answer is about; None if there is no such payment, or there are two."""
    meant = [found[channel, report.key] for channel in report.channels if (channel, report.key) in found]
    return meant[0] if len(meant) == 1 else None


def _stored_answer_of(report: Report, transaction: Transaction, now: datetime) -> StoredAnswer:
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


def _with_age(report: Report) -> ReceivedAnswer:
    """With how long ago the query was sent: what was received since then may be newer."""
    if report.asked_at is None:
        return report.received
    age_seconds = asyncio.get_running_loop().time() - report.asked_at
    return msgspec.structs.replace(report.received, age_seconds=age_seconds)


def _unknown_callback_of(report: Report, now: datetime) -> UnknownCallback:
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
