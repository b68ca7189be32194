"""The six programs of a merchant behind one face: what became of a payment, in few words."""

import secrets
from dataclasses import dataclass
from typing import Any, Protocol

from tests.simulator.airtel import Airtel
from tests.simulator.azampay.client import Azampay
from tests.simulator.clickpesa import Clickpesa
from tests.simulator.halopesa import Halopesa, fields_of
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Call
from tests.simulator.tigo import Tigo

HTML = "500 html"
SILENT = "no query"


class Merchant(Protocol):
    start: str  # of its phones' numbers

    def reference(self) -> str: ...

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        """What the reply says."""

    async def status(self, kind: str, reference: str) -> str:
        """What a query says."""

    def status_in(self, call: Call) -> str:
        """What a callback says."""


@dataclass
class ByMpesa:
    wire: Mpesa
    start: str = "+255754123"

    def reference(self) -> str:
        return secrets.token_hex(16)

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        act = self.wire.collect if kind == "collection" else self.wire.disburse
        answer = await act(phone, 1000, input_ThirdPartyConversationID=reference)
        return HTML if isinstance(answer.body, str) else f"{answer.status} {answer.code}"

    async def status(self, kind: str, reference: str) -> str:
        return await self.wire.status(reference)

    def status_in(self, call: Call) -> str:
        return str(call.body["input_ResultCode"])


@dataclass
class ByAirtel:
    wire: Airtel
    start: str = "+255684123"

    def reference(self) -> str:
        return secrets.token_hex(16)

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        act = self.wire.collect if kind == "collection" else self.wire.disburse
        answer = await act(phone, 1000, reference)
        if isinstance(answer.body, str):
            return HTML
        return " ".join([str(answer.status), answer.code, *([answer.letters] if "data" in answer.body else [])])

    async def status(self, kind: str, reference: str) -> str:
        return await self.wire.status("payment" if kind == "collection" else "disbursement", reference)

    def status_in(self, call: Call) -> str:
        return f"{call.body['transaction']['status_code']}:{call.body['transaction']['code']}"


@dataclass
class ByTigo:
    wire: Tigo
    start: str = "+255714123"

    def reference(self) -> str:
        return self.wire.reference()

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        if kind == "collection":
            answer = await self.wire.collect(phone, 1000, reference)
        else:
            answer = await self.wire.disburse(phone, "1000", reference)
        if isinstance(answer.body, str):
            return HTML if answer.status == 500 else str(answer.status)
        return answer.code

    async def status(self, kind: str, reference: str) -> str:
        return await self.wire.status(reference) if kind == "collection" else SILENT

    def status_in(self, call: Call) -> str:
        return str(call.body["Status"])


@dataclass
class ByHalopesa:
    wire: Halopesa
    start: str = "+255621123"

    def reference(self) -> str:
        return secrets.token_hex(8)

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        answer = await self.wire.collect(phone, "1000", reference)
        return HTML if isinstance(answer.body, str) else answer.code

    async def status(self, kind: str, reference: str) -> str:
        return SILENT

    def status_in(self, call: Call) -> str:
        fields = fields_of(call.raw)
        return f"{fields['response_type']}:{fields['response_code']}"


@dataclass
class ByClickpesa:
    wire: Clickpesa
    start: str = "+255622123"

    def reference(self) -> str:
        return secrets.token_hex(8)

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        if kind == "collection":
            answer: Any = await self.wire.collect(phone, "1000", reference)
        else:
            answer = await self.wire.disburse(phone, 1000, reference)
        if isinstance(answer.body, str):
            return HTML
        return f"{answer.status} {answer.body['status']}" if answer.status == 200 else str(answer.status)

    async def status(self, kind: str, reference: str) -> str:
        return await self.wire.status("payment" if kind == "collection" else "payout", reference)

    def status_in(self, call: Call) -> str:
        return f"{call.body['event']}:{call.body['data']['status']}"


@dataclass
class ByAzampay:
    """It pays out only. The prefix of its phones is not that of the network that it names: numbers are portable."""

    wire: Azampay
    start: str = "+255746123"

    def reference(self) -> str:
        return secrets.token_hex(8)

    async def pay(self, kind: str, phone: str, reference: str) -> str:
        answer = await self.wire.disburse(phone, 1000, reference)
        return HTML if isinstance(answer.body, str) else f"{answer.status} {answer.body['success']}"

    async def status(self, kind: str, reference: str) -> str:
        answer = await self.wire.ask(externalReferenceId=reference)
        return str(answer.body["status"]) if answer.status == 200 else str(answer.status)

    def status_in(self, call: Call) -> str:
        return str(call.body["status"])
