"""The entrance of the worker: claims payments for sending, applies answers, ends payments that lapse. Calls that arrive
together share a commit."""

from collections.abc import Sequence

from malipo import log
from malipo.clock import Clock
from malipo.db.group_commit import GroupCommits
from malipo.db.pace import ANSWERS_PACE
from malipo.networks.connector import Channel
from malipo.payments.apply_network_answers import AnswerResult, AnswerToApply, ApplyNetworkAnswers
from malipo.payments.claim_for_sending import ClaimedPayments, ClaimForSending, SendClaim
from malipo.payments.dispatch import QueryRules
from malipo.payments.lapse import fail_unconnected_payouts, lapse
from malipo.payments.status_signals import StatusSignals
from malipo.payments.store import claims
from malipo.settings import Settings

_MOST_LAPSED = 500


class NetworkWork:
    def __init__(self, commits: GroupCommits, settings: Settings, signals: StatusSignals, *, clock: Clock) -> None:
        self._database = commits.database
        self._settings = settings
        self._signals = signals
        self._clock = clock
        # "submit" is the label of this group in the metrics, and stays.
        self._claim = commits.group("submit", ClaimForSending(clock=clock))
        self._apply_answers = commits.group(
            "settle",
            ApplyNetworkAnswers(
                clock=clock, rules=QueryRules.of(settings), credits_automatically=settings.credit_by_itself
            ),
            # The longest time by which a network or a customer waits for its answer to be stored.
            pace=ANSWERS_PACE,
        )

    async def claim_for_sending(self, claim: SendClaim) -> ClaimedPayments:
        taken = await self._claim(claim)
        for each in [*taken.to_send, *taken.lapsed]:
            self._signals.reached(each)
        return taken

    async def take_back(self, claim: SendClaim) -> None:
        """Undo a claim of which nothing was sent."""
        async with self._database.begin() as tx:
            await claims.take_back(tx, claim.id)

    async def apply_answer(self, report: AnswerToApply) -> AnswerResult | None:
        result = await self._apply_answers(report)
        if result is not None and result.is_merchant_notified:
            self._signals.wake_fan_out()
        if result is not None and result.transaction.status is not result.before:
            self._signals.reached(result.transaction)
            log.info(
                "payment.settled",
                transaction=result.transaction.id,
                status=result.transaction.status,
                by=report.received.source,
                network=report.received.connector,
            )
        return result

    async def lapse(self, channels: Sequence[Channel], *, connector: str | None) -> None:
        """End the collections that could not be sent in time, while their connector is down or there is none."""
        async with self._database.begin() as tx:
            lapsed = await lapse(
                tx,
                channels,
                connector=connector,
                lapse_seconds=self._settings.lapse_seconds,
                most=_MOST_LAPSED,
                now=self._clock(),
            )
        for each in lapsed:
            self._signals.reached(each)

    async def fail_unconnected_payouts(self, channels: Sequence[Channel]) -> None:
        """End the payouts that waited too long on channels that are not connected."""
        async with self._database.begin() as tx:
            failed = await fail_unconnected_payouts(
                tx,
                channels,
                lapse_seconds=self._settings.payout_lapse_seconds,
                most=_MOST_LAPSED,
                now=self._clock(),
            )
        for each in failed:
            self._signals.reached(each)

    def wake_querier(self, connector: str) -> None:
        """A status query may be due."""
        self._signals.notifier.notify(connector)
