"""Merchants give back what they collected: all of it, in parts, twice at once, or asked for twice.

Those who insist make a refund that FAILED once more, at once. Just then its network does nothing for a while, so that
the outcome of the second is unknown while the first may turn out paid.

After a restore somebody sees that a payment was not refunded, and does it once more, under another key.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.plan import PlannedPayment

_PART = 500
_LOOKS = 25
_LOOK_SECONDS = 1.0
_TRIES = 30
_PAUSE_SECONDS = 0.9
_AT_ONCE_SECONDS = 0.1
_TROUBLE_SECONDS = 2.0

Trouble = Callable[[PlannedPayment, float], None]
Call = Callable[[PlannedPayment, int, str, str, Any, str | None], Awaitable[tuple[int, Any]]]


@dataclass
class Refunds:
    """Of one merchant's payment: what they were told."""

    ids: list[str] = field(default_factory=list)  # of acknowledged refunds
    acknowledged_at: list[float] = field(default_factory=list)
    troubles: list[int] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # the words of those that were acknowledged
    refused: set[str] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)  # the words of those that may have been made without an answer
    failed: dict[str, str] = field(default_factory=dict)  # ids of those that they saw FAILED, and their references
    asked: dict[str, dict[str, Any] | None] = field(default_factory=dict)  # the word in a key, and the body


class MerchantRefunds:
    def __init__(
        self, call: Call, payments: tuple[PlannedPayment, ...], time: Callable[[], float], trouble: Trouble
    ) -> None:
        self._call = call
        self._trouble = trouble
        self._time = time
        self.told = {payment.number: Refunds() for payment in payments}

    async def give_back(self, payment: PlannedPayment, collection_id: str) -> None:
        if not payment.refund or not await self._until(payment, collection_id, ("COMPLETED",)):
            return
        match payment.refund:
            case "raced":
                await asyncio.gather(*(self._ask(payment, collection_id, f"race-{turn}", turn) for turn in (0, 1)))
            case "repeated":
                for turn in (0, 1):
                    await self._ask(payment, collection_id, "return", turn)
            case "parts":
                refund = await self._ask(payment, collection_id, "part", 0, {"amount": _PART})
                if refund is not None and await self._until(payment, refund, ("COMPLETED", "FAILED", "CANCELLED")):
                    await self._ask(payment, collection_id, "rest", 1)
            case "insisting":
                await self._insist(payment, collection_id)
            case _:
                await self._ask(payment, collection_id, "return", 0)

    async def _insist(self, payment: PlannedPayment, collection_id: str) -> None:
        refund = await self._ask(payment, collection_id, "return", 0)
        if refund is not None and await self._until(payment, refund, ("FAILED",), _AT_ONCE_SECONDS):
            self._trouble(payment, _TROUBLE_SECONDS)
            await self._ask(payment, collection_id, "insist", 1)

    async def give_back_again(self, payment: PlannedPayment, collection_id: str) -> None:
        """After a restore: under the same keys, and by somebody who knows of no refund."""
        for word, body in list(self.told[payment.number].asked.items()):
            await self._ask(payment, collection_id, word, 0, body)
        if payment.refund:
            await self._ask(payment, collection_id, "once-more", 0)

    async def _until(
        self, payment: PlannedPayment, id_: str, statuses: tuple[str, ...], seconds: float = _LOOK_SECONDS
    ) -> bool:
        """Whether a payment gets there, or is corrected so, as far as the merchant has the patience to look."""
        for _ in range(_LOOKS):
            status, answer = await self._call(payment, 0, "GET", f"/v1/payments/{id_}", None, None)
            if status == 200 and (outcome := _outcome_of(answer["transaction"])) in statuses:
                if outcome == "FAILED":
                    self.told[payment.number].failed[id_] = answer["transaction"]["reference"]
                return True
            await asyncio.sleep(seconds)
        return False

    async def _ask(
        self, payment: PlannedPayment, collection_id: str, word: str, turn: int, body: dict[str, Any] | None = None
    ) -> str | None:
        """Ask until there is an answer that is not the service's own trouble; the refund, if one was made."""
        self.told[payment.number].asked[word] = body
        told, path = self.told[payment.number], f"/v1/payments/{collection_id}/refund"
        for attempt in range(_TRIES):
            key = f"{word}-{payment.number}"
            status, answer = await self._call(payment, turn + attempt, "POST", path, body or {}, key)
            if status == 500:
                told.troubles.append(status)
            if status == 201:
                told.ids.append(answer["transaction"]["id"])
                told.made.add(word)
                told.acknowledged_at.append(self._time())
                return told.ids[-1]
            if 400 <= status < 500 and status not in (408, 429):
                told.refused.add(word)
                return None
            if status == 0:
                told.unanswered.add(word)
            await asyncio.sleep(_PAUSE_SECONDS)
        return None


def _outcome_of(transaction: dict[str, Any]) -> str:
    return str(transaction.get("correction", {}).get("outcome", transaction["status"]))
