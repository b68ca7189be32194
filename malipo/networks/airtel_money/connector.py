"""Airtel Money (Airtel Africa Open API): OAuth tokens, collections, disbursements with an encrypted PIN, enquiry.

A collection's reply says "SUCCESS" when the prompt was sent; only `TS` says that money moved. Callbacks can be signed:
then they end a payment by themselves, else they are hints (`airtel_money_callbacks.py`). What replies say is in
`airtel_money_replies.py`, what codes mean in `airtel_money_codes.py`.
"""

import base64
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import msgspec
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from malipo import randomness
from malipo.networks import rsa
from malipo.networks.airtel_money import callbacks, replies
from malipo.networks.airtel_money.statements import summary
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Balance,
    Callback,
    Channel,
    News,
    Order,
    Recipient,
    Resubmit,
    Type,
)
from malipo.networks.http.client import (
    HttpClient,
    Lost,
    Reply,
    Unsent,
    seconds_of,
    text_of,
    token_of,
)
from malipo.networks.statement_source import CannotFetch, FetchedLine
from malipo.networks.text import cleaned
from malipo.networks.token_auth import NoToken, TokenAuth, failed_query, misconfigured, nothing_sent
from malipo.settings.networks import AirtelMoneySettings

_encode = msgspec.json.Encoder().encode
_TOKEN_MARGIN_SECONDS = 30


class AirtelMoney:
    name = "airtel_money"
    statement_profile = "airtel-summary"

    def __init__(self, settings: AirtelMoneySettings, http_client: HttpClient) -> None:
        assert settings.airtel_money_base_url
        assert settings.airtel_money_public_key
        self._settings = settings
        self._http_client = http_client
        self._base = settings.airtel_money_base_url.rstrip("/") + "/"
        self._public_key = rsa.public_key(settings.airtel_money_public_key)
        self._encrypted_pin = self._encrypted(settings.airtel_money_pin or "")
        if settings.airtel_money_signing:
            self._signature(b"{}")  # A key that is too short for it is better reported at the start.
        self.timeout_seconds: float = settings.airtel_money_timeout_seconds
        self._authorised = TokenAuth(self._fetch_token, timeout_seconds=self.timeout_seconds)
        self.concurrency = settings.airtel_money_concurrency

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # ESB000041, DP00900001011, DP00900001017

    def can_query(self, type_: Type) -> bool:
        return True

    async def send(self, order: Order) -> Answer:
        if order.type is Type.COLLECTION:
            path, body = self._settings.airtel_money_collection_path, self._collection(order)
        else:
            path = self._versioned(self._settings.airtel_money_disbursement_path)
            body = self._disbursement(order)
        reply = await self._call("POST", path, body=_encode(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply, order)

    async def ask(self, order: Order) -> Answer:
        if order.type is Type.COLLECTION:
            path = self._settings.airtel_money_collection_query_path.rstrip("/") + "/" + order.key
        else:
            path = self._versioned(self._settings.airtel_money_disbursement_query_path).rstrip("/") + "/" + order.key
            path += "?transactionType=B2C" if self._settings.airtel_money_disbursement_version == "v2" else ""
        reply = await self._call("GET", path)
        if isinstance(reply, Answer):
            return failed_query(reply)
        return replies.of_enquiry(reply, order)

    async def balance(self) -> Balance:
        reply = await self._call("GET", self._settings.airtel_money_balance_path)
        if isinstance(reply, Answer):
            return Balance(code=reply.code, detail=reply.detail)
        return replies.of_balance(reply, self._settings.airtel_money_currency)

    def looks_up(self, channel: Channel) -> bool:
        return channel is Channel.AIRTEL_MONEY

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        path = self._settings.airtel_money_user_path.rstrip("/") + "/" + _national(phone)
        reply = await self._call("GET", path)
        if isinstance(reply, Answer):
            return Recipient(code=reply.code, detail=reply.detail)
        return replies.of_user(reply, _national(phone))

    async def probe(self) -> Answer:
        return await self._authorised.probe()

    def fetch_statement(self, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
        number = self._settings.airtel_money_msisdn
        if number is None:
            raise CannotFetch(
                "Set MALIPO_AIRTEL_MONEY_MSISDN, our own number: it tells what came in from what went out."
            )
        path = self._settings.airtel_money_summary_path
        return summary(lambda path: self._call("GET", path), path, our_number=number, begins=begins, ends=ends)

    def read(self, callback: Callback) -> News | None:
        return callbacks.read(callback, self._settings)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        return callbacks.acknowledge(news)

    def _collection(self, order: Order) -> dict[str, Any]:
        country, currency = self._settings.airtel_money_country, self._settings.airtel_money_currency
        return {
            "reference": cleaned(order.note, least=4, most=64),
            "subscriber": {"country": country, "currency": currency, "msisdn": _national(order.phone)},
            "transaction": {"amount": order.amount, "country": country, "currency": currency, "id": order.key},
        }

    def _disbursement(self, order: Order) -> dict[str, Any]:
        payee: dict[str, Any] = {"msisdn": _national(order.phone)}
        transaction: dict[str, Any] = {"amount": order.amount, "id": order.key}
        if self._settings.airtel_money_disbursement_version == "v2":
            name = cleaned(order.name, least=1, most=64, otherwise="Customer")
            payee = {"currency": self._settings.airtel_money_currency, **payee, "name": name}
            transaction |= {"type": "B2C"}
        return {"payee": payee, "reference": order.key, "pin": self._encrypted_pin, "transaction": transaction}

    def _versioned(self, path: str) -> str:
        return path.replace("{version}", self._settings.airtel_money_disbursement_version)

    def _encrypted(self, secret: str) -> str:
        return rsa.encrypted(self._public_key, secret, padding_=self._settings.airtel_money_pin_padding)

    def _signature(self, body: bytes | None) -> dict[str, str]:
        """The body under a key that is used once, and the key under theirs."""
        if body is None or not self._settings.airtel_money_signing:
            return {}
        key, start = randomness.token_bytes(32), randomness.token_bytes(16)
        padder = PKCS7(128).padder()
        encryptor = Cipher(AES(key), CBC(start)).encryptor()
        signed = encryptor.update(padder.update(body) + padder.finalize()) + encryptor.finalize()
        return {"x-signature": _base64(signed), "x-key": self._encrypted(f"{_base64(key)}:{_base64(start)}")}

    async def _call(self, method: str, path: str, *, body: bytes | None = None) -> Reply | Answer:
        """A call with the token; once more, with the same bytes, when the network says that the token has expired."""
        reply = await self._authorised.call(
            lambda token, seconds: self._request(method, path, token, body, seconds),
            is_over=lambda reply: reply.status == 401,
        )
        if isinstance(reply, Reply) and reply.status == 401:
            return misconfigured(replies.NETWORK, "HTTP 401", "the token is not accepted")
        return reply

    async def _request(
        self, method: str, path: str, token: str, body: bytes | None, seconds: float
    ) -> Reply | Unsent | Lost:
        return await self._http_client.call(
            method,
            self._base + path.lstrip("/"),
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                "Accept": "*/*",
                "X-Country": self._settings.airtel_money_country,
                "X-Currency": self._settings.airtel_money_currency,
                **self._signature(body),
            },
            body=body,
            timeout_seconds=seconds,
        )

    async def _fetch_token(self) -> tuple[str, float]:
        reply = await self._http_client.call(
            "POST",
            self._base + self._settings.airtel_money_token_path.lstrip("/"),
            headers={"Content-Type": "application/json", "Accept": "*/*"},
            body=_encode(
                {
                    "client_id": self._settings.airtel_money_client_id,
                    "client_secret": self._settings.airtel_money_client_secret,
                    "grant_type": "client_credentials",
                }
            ),
            timeout_seconds=self.timeout_seconds,
        )
        if isinstance(reply, Unsent | Lost):
            # Lost or not, this was the request for a token: no payment has been sent.
            raise NoToken(nothing_sent("token", reply.reason))
        said = reply.json() or {}
        if token := token_of(said.get("access_token")):
            return token, seconds_of(said.get("expires_in")) - _TOKEN_MARGIN_SECONDS
        if reply.status in (400, 401, 403) and text_of(said.get("error")):
            description = text_of(said.get("error_description"))
            raise NoToken(misconfigured(replies.NETWORK, f"HTTP {reply.status}", description))
        raise NoToken(nothing_sent(f"HTTP {reply.status}"))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _national(phone: str) -> str:
    return phone.removeprefix("+255")
