"""Airtel Money (Airtel Africa Open API): OAuth tokens, collections, disbursements with an encrypted PIN, enquiry.

A collection's reply says "SUCCESS" when the prompt was sent; only `TS` says that money moved. Callbacks can be signed:
then they end a payment by themselves, else they are hints.
"""

import base64
from collections.abc import AsyncIterator, Awaitable
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
from malipo.networks.answers import failed_query, unknown_balance, unknown_recipient
from malipo.networks.authorized_calls import TokenCalls, TokenWire, refused_by_401
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Balance,
    Callback,
    CallbackReport,
    Channel,
    PaymentInstruction,
    Recipient,
    Resubmit,
    Type,
)
from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent
from malipo.networks.requirements import Requirements
from malipo.networks.statement_source import CannotFetch, FetchedLine
from malipo.networks.text import cleaned
from malipo.settings.networks import AirtelMoneySettings

_encode = msgspec.json.Encoder().encode


class AirtelMoney:
    name = "airtel_money"
    requirements = Requirements(
        address="airtel_money_base_url",
        needs=("airtel_money_client_id", "airtel_money_client_secret", "airtel_money_pin", "airtel_money_public_key"),
        encrypted=(("airtel_money_pin", "airtel_money_public_key"),),
    )
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
        self.concurrency = settings.airtel_money_concurrency
        wire = TokenWire(
            request=self._request_token,
            read=replies.of_token,
            headers=self._headers,
            refusal=refused_by_401(replies.NETWORK),
        )
        self._calls = TokenCalls(http_client, wire, base=self._base, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # ESB000041, DP00900001011, DP00900001017

    def can_query(self, type_: Type) -> bool:
        return True

    async def send(self, instruction: PaymentInstruction) -> Answer:
        if instruction.type is Type.COLLECTION:
            path, body = self._settings.airtel_money_collection_path, self._collection(instruction)
        else:
            path = self._versioned(self._settings.airtel_money_disbursement_path)
            body = self._disbursement(instruction)
        reply = await self._calls.call("POST", path, _encode(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply, instruction)

    async def query(self, instruction: PaymentInstruction) -> Answer:
        if instruction.type is Type.COLLECTION:
            path = self._settings.airtel_money_collection_query_path.rstrip("/") + "/" + instruction.key
        else:
            path = (
                self._versioned(self._settings.airtel_money_disbursement_query_path).rstrip("/") + "/" + instruction.key
            )
            path += "?transactionType=B2C" if self._settings.airtel_money_disbursement_version == "v2" else ""
        reply = await self._calls.call("GET", path)
        return failed_query(reply) if isinstance(reply, Answer) else replies.of_query(reply, instruction)

    async def balance(self) -> Balance:
        reply = await self._calls.call("GET", self._settings.airtel_money_balance_path)
        if isinstance(reply, Answer):
            return unknown_balance(reply)
        return replies.of_balance(reply, self._settings.airtel_money_currency)

    def looks_up(self, channel: Channel) -> bool:
        return channel is Channel.AIRTEL_MONEY

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        path = self._settings.airtel_money_user_path.rstrip("/") + "/" + _national(phone)
        reply = await self._calls.call("GET", path)
        return unknown_recipient(reply) if isinstance(reply, Answer) else replies.of_name(reply, _national(phone))

    async def probe(self) -> Answer:
        return await self._calls.probe()

    def fetch_statement(self, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
        number = self._settings.airtel_money_msisdn
        if number is None:
            raise CannotFetch(
                "Set MALIPO_AIRTEL_MONEY_MSISDN, our own number: it tells what came in from what went out."
            )
        path = self._settings.airtel_money_summary_path
        return summary(lambda path: self._calls.call("GET", path), path, our_number=number, begins=begins, ends=ends)

    def read(self, callback: Callback) -> CallbackReport | None:
        return callbacks.read(callback, self._settings)

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement:
        return callbacks.acknowledge(report)

    def _collection(self, instruction: PaymentInstruction) -> dict[str, Any]:
        country, currency = self._settings.airtel_money_country, self._settings.airtel_money_currency
        return {
            "reference": cleaned(instruction.note, least=4, most=64),
            "subscriber": {"country": country, "currency": currency, "msisdn": _national(instruction.phone)},
            "transaction": {
                "amount": instruction.amount,
                "country": country,
                "currency": currency,
                "id": instruction.key,
            },
        }

    def _disbursement(self, instruction: PaymentInstruction) -> dict[str, Any]:
        payee: dict[str, Any] = {"msisdn": _national(instruction.phone)}
        transaction: dict[str, Any] = {"amount": instruction.amount, "id": instruction.key}
        if self._settings.airtel_money_disbursement_version == "v2":
            name = cleaned(instruction.name, least=1, most=64, otherwise="Customer")
            payee = {"currency": self._settings.airtel_money_currency, **payee, "name": name}
            transaction |= {"type": "B2C"}
        return {"payee": payee, "reference": instruction.key, "pin": self._encrypted_pin, "transaction": transaction}

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

    def _headers(self, token: str, body: bytes | None) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "*/*",
            "X-Country": self._settings.airtel_money_country,
            "X-Currency": self._settings.airtel_money_currency,
            **self._signature(body),
        }

    def _request_token(self) -> Awaitable[Reply | RequestUnsent | ReplyLost]:
        body = {
            "client_id": self._settings.airtel_money_client_id,
            "client_secret": self._settings.airtel_money_client_secret,
            "grant_type": "client_credentials",
        }
        return self._http_client.call(
            "POST",
            self._base + self._settings.airtel_money_token_path.lstrip("/"),
            headers={"Content-Type": "application/json", "Accept": "*/*"},
            body=_encode(body),
            timeout_seconds=self.timeout_seconds,
        )


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _national(phone: str) -> str:
    return phone.removeprefix("+255")
