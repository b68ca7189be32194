"""A merchant's program that speaks to M-Pesa, written from the wire facts alone."""

import base64
import secrets
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa


@dataclass
class Answer:
    status: int
    body: Any

    @property
    def code(self) -> str:
        code: str = self.body.get("output_ResponseCode", "")
        return code


class Mpesa:
    def __init__(self, http: aiohttp.ClientSession, url: str, credentials: dict[str, Any]) -> None:
        self._http = http
        self.given = credentials
        self.base = url + credentials["basePath"]
        self.bearer = ""

    def seal(self, text: str) -> str:
        key = serialization.load_der_public_key(base64.b64decode(self.given["publicKey"]))
        assert isinstance(key, rsa.RSAPublicKey)
        return base64.b64encode(key.encrypt(text.encode(), padding.PKCS1v15())).decode()

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: dict[str, str] | None = None,
        bearer: str | None = None,
        origin: str | None = "*",
        base: str = "",
    ) -> Answer:
        headers = {"Authorization": f"Bearer {self.bearer if bearer is None else bearer}"}
        if origin is not None:
            headers["Origin"] = origin
        # A connection of its own, so that none is reused after a cut.
        async with self._http.request(
            method, (base or self.base) + path, json=body, params=query, headers=headers
        ) as answer:
            text = await answer.read()
            try:
                return Answer(answer.status, msgspec.json.decode(text))
            except msgspec.DecodeError:
                return Answer(answer.status, text.decode())

    async def open(self) -> "Mpesa":
        answer = await self.call("GET", "/getSession/", bearer=self.seal(self.given["apiKey"]))
        assert (answer.status, answer.code) == (200, "INS-0"), answer
        self.bearer = self.seal(answer.body["output_SessionID"])
        return self

    def fields(self, phone: str, amount: int | str = 1000, **changes: Any) -> dict[str, Any]:
        return {
            "input_Amount": str(amount),
            "input_CustomerMSISDN": phone.lstrip("+"),
            "input_Country": "TZN",
            "input_Currency": "TZS",
            "input_ServiceProviderCode": self.given["serviceProviderCode"],
            "input_TransactionReference": "T1234",
            "input_ThirdPartyConversationID": secrets.token_hex(16),
        } | changes

    async def collect(self, phone: str, amount: int | str = 1000, **changes: Any) -> Answer:
        fields = self.fields(phone, amount, input_PurchasedItemsDesc="Shoes")
        return await self.call("POST", "/c2bPayment/singleStage/", body=fields | changes)

    async def disburse(self, phone: str, amount: int | str = 1000, **changes: Any) -> Answer:
        fields = self.fields(phone, amount, input_PaymentItemsDesc="Salary")
        return await self.call("POST", "/b2cPayment/", body=fields | changes)

    def question(self, reference: str) -> dict[str, str]:
        return {
            "input_QueryReference": reference,
            "input_ServiceProviderCode": self.given["serviceProviderCode"],
            "input_ThirdPartyConversationID": secrets.token_hex(16),
            "input_Country": "TZN",
        }

    async def ask(self, reference: str) -> Answer:
        return await self.call("GET", "/queryTransactionStatus/", query=self.question(reference))

    async def status(self, reference: str) -> str:
        """The outcome in a query's words, or its error code."""
        answer = await self.ask(reference)
        if answer.code != "INS-0":
            return answer.code
        found: str = answer.body["output_ResponseTransactionStatus"]
        return f"{found} reversed" if answer.body["output_Reversed"] == "True" else found
