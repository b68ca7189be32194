"""Five merchants and their payments: asked for, sent, answered by the networks, with every fault that networks have."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo import clock, ids
from malipo.db import Database, Tx
from malipo.networks.connector import Answer, Channel, FailureCode, Resubmit, Verdict
from malipo.payments.apply_network_answers import AnswerToApply, ApplyNetworkAnswers
from malipo.payments.assign_network_keys import DerivedKeys
from malipo.payments.cancel import Cancel, Cancellation
from malipo.payments.claim_for_sending import ClaimForSending, SendClaim
from malipo.payments.dispatch import AnswerSource, QueryRules, ReceivedAnswer
from malipo.payments.initiate import Initiate, InitiatedPayment, PaymentRequest
from malipo.payments.payment_request import PaymentTerms, payment_request_of
from malipo.payments.store import asked_first
from malipo.payments.transaction import Transaction, Type
from malipo.settings import Settings
from malipo.validation.fields import Fields
from simulation.month.network_book import NetworkAccount

_CONNECTORS = {
    Channel.MPESA: "mpesa",
    Channel.TIGO_PESA: "tigo_pesa",
    Channel.AIRTEL_MONEY: "airtel_money",
    Channel.HALOPESA: "halopesa",
}
_PREFIXES = {
    Channel.MPESA: "+25575",
    Channel.TIGO_PESA: "+25571",
    Channel.AIRTEL_MONEY: "+25578",
    Channel.HALOPESA: "+25562",
}
_AT_ONCE = 200
_COLLECTIONS = 0.7
# What becomes of a payment, by how often in ten thousand.
FATES = {
    "paid": 8900,
    "declined": 500,
    "cancelled": 60,
    "reply-lost": 200,  # paid; the answer comes with a query
    "reply-lost-declined": 60,
    "never-heard": 40,  # paid; only the statement says it
    "told-twice": 80,
    "told-failed-but-paid": 40,
    "told-paid-but-not": 30,  # no line ever
    "taken-back": 30,  # the network pays, and takes it back an hour later
    "another-amount": 30,
    "shown-twice": 30,
}


class Shops:
    def __init__(
        self,
        settings: Settings,
        merchants: Sequence[str],
        accounts: dict[Channel, NetworkAccount],
        chance: random.Random,
    ) -> None:
        self._merchants = merchants
        self._accounts = accounts
        self._chance = chance
        self._terms = PaymentTerms.of(settings)
        self._rules = QueryRules.of(settings)
        self.fates: Counter[str] = Counter()
        self.planned: list[str] = []  # the fates of the next collections
        self.refused: Counter[str] = Counter()
        self.requests = 0
        self._asked = 0
        self.phones: dict[str, str] = {}  # whose customer a phone is: what a merchant tells operators who telephone
        self.by_key: dict[str, PaymentRequest] = {}  # by network key, what was asked for

    async def pay(self, database: Database, count: int, at: datetime) -> list[PaymentRequest]:
        """So many payments are asked for, sent and answered. What was asked for."""
        requests = await self._with_keys(database, [self._request(at) for _ in range(count)])
        for start in range(0, len(requests), _AT_ONCE):
            await self.ask(database, requests[start : start + _AT_ONCE])
        await self.work(database, at)
        return requests

    async def payouts(self, database: Database, count: int, at: datetime) -> list[PaymentRequest]:
        return await self._with_keys(database, [self._request(at, Type.DISBURSEMENT) for _ in range(count)])

    async def _with_keys(self, database: Database, requests: Sequence[PaymentRequest]) -> list[PaymentRequest]:
        keys = DerivedKeys(database, self._terms)
        return [await keys.assign(each) for each in requests]

    def _request(self, at: datetime, type_: Type | None = None) -> PaymentRequest:
        chance, self._asked = self._chance, self._asked + 1
        type_ = type_ or (Type.COLLECTION if chance.random() < _COLLECTIONS else Type.DISBURSEMENT)
        channel = chance.choice(list(Channel))
        merchant = chance.choice(self._merchants)
        phone = f"{_PREFIXES[channel]}{self._asked:07}"
        self.phones[phone] = merchant
        party = "buyer" if type_ is Type.COLLECTION else "recipient"
        amount = chance.randrange(1_000, 60_000) if type_ is Type.COLLECTION else chance.randrange(1_000, 40_000)
        return payment_request_of(
            Fields({"amount": amount, "channel": str(channel), f"{party}Phone": phone, f"{party}Name": "Asha"}),
            type_,
            merchant,
            key=f"order-{self._asked}",
            terms=self._terms,
            now=at,
            is_key_required=True,
        )

    async def ask(self, database: Database, requests: Sequence[PaymentRequest]) -> list[Transaction]:
        """In one commit, as requests that arrive together."""
        async with database.begin() as tx:
            return await self.ask_in(tx, requests)

    async def ask_in(self, tx: Tx, requests: Sequence[PaymentRequest]) -> list[Transaction]:
        answers = await Initiate(clock=clock.now)(tx, requests, again=False)
        made = []
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(answer, InitiatedPayment):
                made.append(answer.transaction)
                self.by_key[answer.transaction.network_key] = request
            else:
                self.refused[str(getattr(answer, "code", answer))] += 1
        self.requests += len(requests)
        return made

    async def work(self, database: Database, at: datetime) -> None:
        """A worker sends all that waits, and the networks answer."""
        self.fates["cancelled"] += await self._cancel_some(database)
        while asked := await self._claim_asked_first(database):
            await self._report(database, [self._known(each) for each in asked])
        while sent := await self._claim(database):
            reports = []
            for number, payment in enumerate(sent):
                moment = at + timedelta(seconds=2 + number * 60 / len(sent))
                reports += self._answers(_CONNECTORS[payment.channel], payment, moment)
            await self._report(database, reports)

    async def _cancel_some(self, database: Database) -> int:
        """Merchants take some back before they are sent."""
        async with database.read() as connection:
            rows = await connection.fetch(
                "SELECT merchant_id, id FROM transactions WHERE status = 'PENDING' AND created_at = $1 ORDER BY id",
                clock.now(),
            )
        share = FATES["cancelled"] / sum(FATES.values())
        chosen = [Cancellation(row["merchant_id"], row["id"]) for row in rows if self._chance.random() < share]
        if chosen:
            async with database.begin() as tx:
                await Cancel(clock=clock.now)(tx, chosen, again=False)
        return len(chosen)

    async def _claim_asked_first(self, database: Database) -> list[Transaction]:
        """After a restore the network is asked about a payment before it is sent: it may have been."""
        found = []
        async with database.begin() as tx:
            for channel, connector in _CONNECTORS.items():
                routes = [(channel, type_) for type_ in Type]
                found += await asked_first.claim_asked_first(tx, connector, routes, lease_seconds=60, most=_AT_ONCE)
        return [each.transaction for each in found]

    def _known(self, payment: Transaction) -> AnswerToApply:
        line = self._accounts[payment.channel].paid.get(payment.network_key)
        verdict, receipt = (Verdict.MISSING, None) if line is None else (Verdict.CONFIRMED, line.receipt)
        return _report(_CONNECTORS[payment.channel], payment, verdict, AnswerSource.QUERY, receipt)

    async def _claim(self, database: Database) -> list[Transaction]:
        wanted = [
            SendClaim(
                id=ids.mint("clm_", clock.now()),
                connector=connector,
                routes=[(channel, type_) for type_ in Type],
                most=_AT_ONCE,
                lease_seconds=60,
                lapse_seconds=86_400,
            )
            for channel, connector in _CONNECTORS.items()
        ]
        async with database.begin() as tx:
            claimed = await ClaimForSending(clock=clock.now)(tx, wanted, again=False)
        return [payment for each in claimed for payment in each.to_send]

    def _answers(self, connector: str, payment: Transaction, at: datetime) -> list[AnswerToApply]:
        """What the network does, and what it says."""
        account, fate = self._accounts[payment.channel], self._fate(payment)
        self.fates[fate] += 1

        def said(
            verdict: Verdict, receipt: str | None = None, source: AnswerSource = AnswerSource.SEND
        ) -> AnswerToApply:
            return _report(connector, payment, verdict, source, receipt)

        match fate:
            case "declined":
                return [said(Verdict.REFUSED)]
            case "reply-lost-declined":
                return [said(Verdict.UNKNOWN), said(Verdict.REFUSED, source=AnswerSource.QUERY)]
            case "told-paid-but-not":
                return [said(Verdict.CONFIRMED, account.receipt())]
        line = account.pay(payment, at, amount=payment.amount - 500 if fate == "another-amount" else None)
        match fate:
            case "reply-lost":
                return [said(Verdict.UNKNOWN), said(Verdict.CONFIRMED, line.receipt, AnswerSource.QUERY)]
            case "never-heard":
                return [said(Verdict.UNKNOWN)]
            case "told-twice":
                again = said(Verdict.CONFIRMED, line.receipt, AnswerSource.CALLBACK)
                return [said(Verdict.CONFIRMED, line.receipt), again]
            case "told-failed-but-paid":
                return [said(Verdict.REFUSED)]
            case "taken-back":
                account.take_back(line, at + timedelta(minutes=5))
            case "shown-twice":
                account.pay_again(payment, at + timedelta(minutes=1))
        return [said(Verdict.CONFIRMED, line.receipt)]

    def _fate(self, payment: Transaction) -> str:
        if payment.network_key in self._accounts[payment.channel].paid:
            return "paid"  # It was, before a restore: the same key never pays twice.
        if self.planned and payment.type is Type.COLLECTION:
            return self.planned.pop()
        names = [each for each in FATES if each != "cancelled"]
        return self._chance.choices(names, [FATES[each] for each in names])[0]

    async def _report(self, database: Database, reports: Sequence[AnswerToApply]) -> None:
        apply_answers = ApplyNetworkAnswers(clock=clock.now, rules=self._rules)
        for start in range(0, len(reports), _AT_ONCE):
            async with database.begin() as tx:
                await apply_answers(tx, reports[start : start + _AT_ONCE], again=False)


def _report(
    connector: str, payment: Transaction, verdict: Verdict, source: AnswerSource, receipt: str | None
) -> AnswerToApply:
    failure = FailureCode.DECLINED if verdict is Verdict.REFUSED else None
    answer = Answer(verdict=verdict, provider_reference=receipt, failure_code=failure)
    return AnswerToApply(
        id=ids.mint("hrg_", clock.now()),
        channels=[payment.channel],
        key=payment.network_key,
        received=ReceivedAnswer(
            connector=connector,
            source=source,
            answer=answer,
            resubmit=Resubmit.DUPLICATES_REFUSED,
        ),
    )
