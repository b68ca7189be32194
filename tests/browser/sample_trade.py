"""What a shop at the lake in Mwanza takes in and pays out: plausible names, goods, amounts and hours, for pictures."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from malipo import clock, ids
from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.networks.connector import Channel, FailureCode
from malipo.payments import status_writer
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.fees import Band, fee_of
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Type
from malipo.webhooks.fan_out import fan_out
from tests.conftest import Merchant
from tests.journeys.concurrency import order

_DAYS = 30
_CUSTOMERS = """Asha Mwakyusa, Juma Masanja, Neema Massawe, Baraka Lema, Rehema Kileo, Daudi Magesa, Zawadi Nyanda,
Elias Bujiku, Mariam Salum, Peter Maganga, Upendo Shirima, Hamisi Juma, Grace Mollel, Sospeter Mabula, Fatuma Said,
Emmanuel Charles, Agnes Makoye, Yohana Kulwa""".replace("\n", " ").split(", ")
_SUPPLIERS = ["Samaki wa Ziwa Traders", "Masanja Transport", "Nyakato Packaging", "Mwaloni Fish Market"]
_GOODS = ["Sangara, kilo 3", "Dagaa, gunia 1", "Mchele wa Magugu, kilo 25", "Sukari na mafuta", "Unga wa dona"]
_PREFIXES = {
    Channel.MPESA: "75",
    Channel.AIRTEL_MONEY: "68",
    Channel.TIGO_PESA: "71",
    Channel.HALOPESA: "62",
}
_TARIFF = (Band(0, 0, 100, 100, 5_000),)


class Shop:
    """Its payments, which happen as they would over a month. The same at every run, but for the dates."""

    def __init__(self, database: Database, merchant: Merchant, *, days: int = _DAYS) -> None:
        self._database = database
        self._merchant = merchant
        self._days = days
        self._chance = random.Random(7)

    async def trade(self, now: datetime) -> str:
        """The id of the last payment that is settled."""
        last = ""
        for at in self._moments(now):
            is_payout = self._chance.random() < 0.18
            type_ = Type.DISBURSEMENT if is_payout else Type.COLLECTION
            last = await self._pay(type_, at) or last
        while await self._tell():
            pass
        return last

    def _moments(self, now: datetime) -> Iterator[datetime]:
        """Of each day from twenty to eight, by the clock of Mwanza, until nine; of today, until now."""
        for back in range(self._days - 1, -1, -1):
            opens = (now - timedelta(days=back)).replace(hour=4, minute=40)
            closes = min(opens + timedelta(hours=13), now - timedelta(minutes=3))
            number = self._chance.randint(9, 17) if opens.weekday() < 6 or back == 0 else self._chance.randint(3, 6)
            if opens < closes:
                yield from sorted(opens + (closes - opens) * self._chance.random() for _ in range(number))

    async def _pay(self, type_: Type, at: datetime) -> str | None:
        chance = self._chance
        is_payout = type_ is Type.DISBURSEMENT
        channel = chance.choices(list(_PREFIXES), weights=[5, 2, 2, 0 if is_payout else 1])[0]
        amount = chance.randrange(60_000, 480_000, 5_000) if is_payout else chance.randrange(3_500, 160_000, 500)
        draft = order(self._merchant.id, type_, amount, channel=channel).draft
        assert draft is not None
        draft = replace(
            draft,
            id=ids.mint("txn_", at),
            fee=fee_of(amount, _TARIFF),
            created_at=at,
            name=chance.choice(_SUPPLIERS if is_payout else _CUSTOMERS),
            phone=f"+255{_PREFIXES[channel]}{chance.randint(1_000_000, 9_999_999)}",
            description="" if is_payout else chance.choice(_GOODS),
        )
        async with self._database.begin() as tx:
            held = await wallets.lock(tx, [self._merchant.id])
            await status_writer.open_all(tx, [draft], held, now=at)
        return draft.id if await self._end(draft.id, at) else None

    async def _end(self, id_: str, at: datetime) -> bool:
        """Most are paid."""
        is_paid, end = self._chance.random() < 0.93, at + timedelta(seconds=self._chance.randint(6, 40))
        learned = (
            {"cause": Cause.CONFIRMED, "provider_reference": f"QK{self._chance.randint(10**7, 10**8)}"}
            if is_paid
            else {
                "cause": Cause.REFUSED,
                "failure_code": "declined",
                "failure_reason": failure_reason_of(FailureCode.DECLINED),
            }
        )
        await self._advance(id_, at + timedelta(seconds=1), cause=Cause.SUBMITTED)
        await self._advance(id_, end, **learned)
        return is_paid

    async def _advance(self, id_: str, at: datetime, **learned: Any) -> None:
        async with self._database.begin() as tx:
            await status_writer.advance(
                tx, [StatusChange(merchant_id=self._merchant.id, transaction_id=id_, **learned)], now=at
            )

    async def _tell(self) -> bool:
        """What a worker does, so that the days are added up."""
        async with self._database.begin() as tx:
            shown = await fan_out(
                tx, most=1000, claim_id="clm_1", lease_seconds=60, may_claim=lambda _: False, now=clock.now()
            )
        return shown.event_count > 0
