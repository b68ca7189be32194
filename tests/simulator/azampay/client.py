"""A merchant's program that speaks to AzamPay, written from the wire facts alone."""

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key


@dataclass
class Answer:
    status: int
    body: Any


class Azampay:
    def __init__(self, http: aiohttp.ClientSession, url: str, credentials: dict[str, Any]) -> None:
        self._http = http
        self.authenticator = url + credentials["authenticatorPath"]
        self.base = f"{url}{credentials['disbursementPath']}/api/v1/azampay"
        self.given = credentials
        self.token = ""
        self.bank = "Halotel"

    def checksum(self, text: str) -> str:
        key = load_der_public_key(base64.b64decode(self.given["publicKey"]))
        assert isinstance(key, RSAPublicKey)
        return base64.b64encode(key.encrypt(hashlib.sha512(text.encode()).digest(), padding.PKCS1v15())).decode()

    async def call(self, method: str, url: str, body: Any = None, **query: str) -> Answer:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self._http.request(method, url, json=body, headers=headers, params=query) as answer:
            text = await answer.read()
            try:
                return Answer(answer.status, msgspec.json.decode(text))
            except msgspec.DecodeError:
                return Answer(answer.status, text.decode())

    async def log_in(self, **changes: str) -> Answer:
        names = ("appName", "clientId", "clientSecret")
        body = {name: self.given[name] for name in names} | changes
        return await self.call("POST", f"{self.authenticator}/AppRegistration/GenerateToken", body)

    async def open(self) -> "Azampay":
        self.token = (await self.log_in()).body["data"]["accessToken"]
        return self

    def payload(self, phone: str, amount: Any = 1000, reference: str = "") -> dict[str, Any]:
        party = {"countryCode": "TZ", "currency": "TZS"}
        source = {"fullName": "Demo Shop", "bankName": "Azampesa", "accountNumber": self.given["sourceAccount"]}
        to = {"fullName": "Asha Mushi", "bankName": self.bank, "accountNumber": phone.lstrip("+")}
        return {
            "source": party | source,
            "destination": party | to,
            "transferDetails": {"type": "FUND", "amount": amount, "dateInEpoch": int(time.time())},
            "externalReferenceId": reference or secrets.token_hex(8),
            "remarks": "Wages",
        }

    def text_of(self, payload: dict[str, Any]) -> str:
        details = payload["transferDetails"]
        accounts = f"{payload['source']['accountNumber']}{payload['destination']['accountNumber']}TZS"
        return f"{accounts}{details['amount']}{details['dateInEpoch']}{payload['externalReferenceId']}"

    async def send(self, payload: dict[str, Any], *, text: str | None = None) -> Answer:
        checksum = self.checksum(self.text_of(payload) if text is None else text)
        return await self.call("POST", f"{self.base}/disburse", payload | {"checksum": checksum})

    async def disburse(self, phone: str, amount: Any = 1000, reference: str = "") -> Answer:
        return await self.send(self.payload(phone, amount, reference))

    async def ask(self, **query: str) -> Answer:
        return await self.call("GET", f"{self.base}/transactionstatus", **{"bankName": self.bank} | query)

    async def look_up(self, phone: str, **changes: Any) -> Answer:
        account = phone.lstrip("+")
        body = {"bankName": self.bank, "accountNumber": account, "checksum": self.checksum(self.bank + account)}
        return await self.call("POST", f"{self.base}/namelookup", body | changes)
