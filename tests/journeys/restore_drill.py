"""The restore drill: payments before a backup, payments in the time that is lost, and repeated requests afterwards."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from tests.journeys.full_stack import FullStack, until
from tests.journeys.restored_stack import pay, statuses

# Networks by what they can say of a payout: the first three have a query, the last has none.
PAYOUT_PREFIXES = {"MPESA": "+255754", "AIRTEL_MONEY": "+255684", "HALOPESA": "+255624", "TIGO_PESA": "+255714"}
CAN_BE_ASKED = ("MPESA", "AIRTEL_MONEY", "HALOPESA")
# Codes that nobody has seen before: they say nothing, and the network does not count as down.
_UNHEARD_OF = {"MPESA": "INS-4242", "AIRTEL_MONEY": "DP00904242424"}
_GATEWAYS = ("MPESA", "AIRTEL_MONEY", "TIGO_PESA", "HALOPESA", "CLICKPESA")
REPLY_LOST = 105  # paid, and only the query knows
AT_THE_PHONE = 100  # a collection that waits for a person


@dataclass(frozen=True)
class Request:
    """What a merchant's program asks for, and asks for again after the restore."""

    type: str
    channel: str
    phone: str
    amount: int
    key: str


@dataclass
class Drill:
    """One merchant's day. Each request has a phone of its own, by which the networks' book distinguishes them."""

    full_stack: FullStack
    made: list[Request] = field(default_factory=list)
    repeated: list[Request] = field(default_factory=list)
    _next: int = 200

    async def ask(self, channel: str, *, type_: str = "DISBURSEMENT", digits: int | None = None) -> Request:
        number, self._next = self._next, self._next + 1
        # The last three digits say what the phone does; those before them tell the phones apart.
        phone = f"{PAYOUT_PREFIXES[channel]}{number:03}{digits if digits is not None else 200 + number % 700:03}"
        request = Request(type_, channel, phone, 1000 + number, f"order-{number}")
        answer = await self.give(request)
        assert answer.status == 201, answer.body
        self.made.append(request)
        return request

    async def give(self, request: Request) -> Any:
        return await pay(
            self.full_stack, request.channel, request.phone, request.key, request.amount, type_=request.type
        )

    async def before_backup(self) -> None:
        """With a worker: some are paid, some are sent and nobody knows yet, some collections wait for a person."""
        paid = [await self.ask(channel) for channel in PAYOUT_PREFIXES for _ in range(3)]
        await self._until_status(paid, "COMPLETED")
        await mute_queries(self.full_stack, is_muted=True)
        unheard = [await self.ask(channel, digits=REPLY_LOST) for channel in (*_UNHEARD_OF, "TIGO_PESA")]
        waiting = [await self.ask(channel, type_="COLLECTION", digits=AT_THE_PHONE) for channel in PAYOUT_PREFIXES]
        await self._until_status(unheard + waiting, "PROCESSING")

    async def unsent(self) -> list[Request]:
        """Without a worker: payouts that are PENDING in the backup."""
        payouts = [await self.ask(channel) for channel in PAYOUT_PREFIXES for _ in range(3)]
        return payouts + [await self.ask(channel, type_="COLLECTION") for channel in ("MPESA", "HALOPESA")]

    async def lost_time(self, unsent: list[Request]) -> list[Request]:
        """With a worker again: everything of this is in the networks' books, and will be in no backup."""
        lost = [await self.ask(channel) for channel in PAYOUT_PREFIXES for _ in range(4)]
        await self._approve()
        await self._until_moved(lost + unsent)
        return lost

    async def repeat(self, lost: list[Request]) -> None:
        """Every request of the lost time once more; one of each network also under a new key."""
        for request in lost:
            answer = await self.give(request)
            assert answer.status == 201, answer.body
        for request in {each.channel: each for each in lost}.values():
            again = dataclasses.replace(request, key=f"{request.key}-again")
            assert (await self.give(again)).status == 201
            self.repeated.append(again)

    async def _approve(self) -> None:
        for prompt in await self.full_stack.sim("GET", "/api/prompts"):
            if prompt["state"] == "waiting":
                await self.full_stack.sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve", "pin": "1234"})

    async def _until_status(self, requests: list[Request], status: str) -> None:
        async def are_so() -> bool:
            found = await statuses(self.full_stack)
            return all(found.get(each.phone) == status for each in requests)

        await until(are_so, what=f"{status} of {len(requests)}")

    async def _until_moved(self, requests: list[Request]) -> None:
        async def have_moved() -> bool:
            book = await self.full_stack.moved()
            return all(each.phone in book for each in requests)

        await until(have_moved, what="the networks' books")


async def mute_queries(full_stack: FullStack, *, is_muted: bool) -> None:
    """M-Pesa and Airtel Money do not say what became of a payment."""
    switches = {name: {"queryError": code if is_muted else None} for name, code in _UNHEARD_OF.items()}
    await full_stack.sim.control(channels=switches)


async def forget_keys(full_stack: FullStack) -> None:
    """Every network takes a key that it has had before as a new payment, and pays again."""
    await full_stack.sim.control(channels={name: {"forgetSeconds": 0.01} for name in _GATEWAYS})


async def movements(full_stack: FullStack) -> dict[str, list[int]]:
    """What the networks' book has under each of our keys."""
    book: dict[str, list[int]] = {}
    for each in (await full_stack.sim("GET", "/api/book"))["movements"]:
        # Tigo Pesa puts the biller's code before it.
        book.setdefault(each["reference"][-16:], []).append(each["amount"])
    return book


async def payments(full_stack: FullStack) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(full_stack.database_url)
    try:
        return list(await connection.fetch("SELECT id, network_key, status, amount, type, channel FROM transactions"))
    finally:
        await connection.close()
