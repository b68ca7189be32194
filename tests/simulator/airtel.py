"""A merchant's program that speaks to Airtel Money, written from the wire facts alone."""

import base64
import secrets
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa


@dataclass
class Answer:
    status: int
    body: Any

    @property
    def code(self) -> str:
        """The newer code, or the older one where there is no newer."""
        status = self.body["status"]
        found: str = status.get("response_code") or status["result_code"]
        return found

    @property
    def letters(self) -> str:
        found: str = self.body["data"]["transaction"]["status"]
        return found


class Airtel:
    def __init__(self, http: aiohttp.ClientSession, url: str, credentials: dict[str, Any]) -> None:
        self._http = http
        self.given = credentials
        self.base = url + credentials["basePath"]
        self.token = ""

    def seal(self, text: str, *, is_oaep: bool = False) -> str:
        key = serialization.load_der_public_key(base64.b64decode(self.given["publicKey"]))
        assert isinstance(key, rsa.RSAPublicKey)
        oaep = padding.OAEP(mgf=padding.MGF1(algorithm=hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
        return base64.b64encode(key.encrypt(text.encode(), oaep if is_oaep else padding.PKCS1v15())).decode()

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        sent = {"Authorization": f"Bearer {self.token}", "X-Country": "TZ", "X-Currency": "TZS", "Accept": "*/*"}
        sent |= headers or {}
        extra: dict[str, Any] = {"data": raw} if raw is not None else {"json": body}
        async with self._http.request(
            method, self.base + path, headers={name: value for name, value in sent.items() if value}, **extra
        ) as answer:
            text = await answer.read()
            try:
                return Answer(answer.status, msgspec.json.decode(text))
            except msgspec.DecodeError:
                return Answer(answer.status, text.decode())

    async def log_in(self, **changes: Any) -> Answer:
        body = {
            "client_id": self.given["clientId"],
            "client_secret": self.given["clientSecret"],
            "grant_type": "client_credentials",
        }
        return await self.call("POST", "/auth/oauth2/token", body=body | changes)

    async def open(self) -> "Airtel":
        answer = await self.log_in()
        assert answer.status == 200, answer
        self.token = answer.body["access_token"]
        return self

    def collection(self, phone: str, amount: Any = 1000, id_: str | None = None) -> dict[str, Any]:
        return {
            "reference": "Duka la Juma",
            "subscriber": {"country": "TZ", "currency": "TZS", "msisdn": phone.removeprefix("+255")},
            "transaction": {
                "amount": amount,
                "country": "TZ",
                "currency": "TZS",
                "id": id_ or secrets.token_hex(16),
            },
        }

    async def collect(self, phone: str, amount: Any = 1000, id_: str | None = None) -> Answer:
        return await self.call("POST", "/merchant/v1/payments/", body=self.collection(phone, amount, id_))

    def disbursement(self, phone: str, amount: Any = 1000, id_: str | None = None) -> dict[str, Any]:
        return {
            "payee": {"msisdn": phone.removeprefix("+255")},
            "reference": "Mshahara",
            "pin": self.seal(self.given["pin"]),
            "transaction": {"amount": amount, "id": id_ or secrets.token_hex(16)},
        }

    async def disburse(self, phone: str, amount: Any = 1000, id_: str | None = None) -> Answer:
        return await self.call("POST", "/standard/v1/disbursements/", body=self.disbursement(phone, amount, id_))

    async def ask(self, kind: str, id_: str) -> Answer:
        return await self.call("GET", f"/standard/v1/{kind}s/{id_}")

    async def status(self, kind: str, id_: str) -> str:
        """The letters of an enquiry, or the code of one that found nothing."""
        answer = await self.ask(kind, id_)
        if "status" not in answer.body:
            return str(answer.status)
        return answer.letters if "data" in answer.body else answer.code
