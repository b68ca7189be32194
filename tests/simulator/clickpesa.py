"""A merchant's program that speaks to ClickPesa, written from the wire facts alone."""

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec


@dataclass
class Answer:
    status: int
    body: Any


class Clickpesa:
    def __init__(self, http: aiohttp.ClientSession, url: str, credentials: dict[str, Any]) -> None:
        self._http = http
        self.base = url + credentials["basePath"]
        self.given = credentials
        self.token = ""

    def checksum(self, payload: dict[str, Any]) -> str:
        text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hmac.new(self.given["checksumSecret"].encode(), text.encode(), hashlib.sha256).hexdigest()

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {"Authorization": self.token} | headers
        async with self._http.request(method, self.base + path, json=body, headers=sent) as answer:
            text = await answer.read()
            try:
                return Answer(answer.status, msgspec.json.decode(text))
            except msgspec.DecodeError:
                return Answer(answer.status, text.decode())

    async def log_in(self, **changes: str) -> Answer:
        headers = {"client-id": self.given["clientId"], "api-key": self.given["apiKey"]} | changes
        return await self.call("POST", "/generate-token", **headers)

    async def open(self) -> "Clickpesa":
        self.token = (await self.log_in()).body["token"]
        return self

    def payload(self, phone: str, amount: Any, reference: str = "") -> dict[str, Any]:
        return {
            "amount": amount,
            "currency": "TZS",
            "orderReference": reference or secrets.token_hex(8),
            "phoneNumber": phone.lstrip("+"),
        }

    async def send(self, path: str, payload: dict[str, Any]) -> Answer:
        return await self.call("POST", path, payload | {"checksum": self.checksum(payload)})

    async def collect(self, phone: str, amount: Any = "1000", reference: str = "") -> Answer:
        return await self.send("/payments/initiate-ussd-push-request", self.payload(phone, amount, reference))

    async def disburse(self, phone: str, amount: Any = 1000, reference: str = "") -> Answer:
        return await self.send("/payouts/create-mobile-money-payout", self.payload(phone, amount, reference))

    async def ask(self, kind: str, reference: str) -> Answer:
        return await self.call("GET", f"/{kind}s/{reference}")

    async def status(self, kind: str, reference: str) -> str:
        answer = await self.ask(kind, reference)
        return str(answer.body[0]["status"]) if answer.status == 200 else str(answer.status)
