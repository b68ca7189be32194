"""M-Pesa (Vodacom Tanzania, OpenAPI): an RSA-encrypted session, C2B, B2C, and a status query for both.

An application of theirs is synchronous (the reply to a payment is its result) or asynchronous (the reply says that it
was taken in, the result comes by callback and by query). The reply itself shows which: only a result has a receipt.
Callbacks are unsigned, so they are hints.
"""

from collections.abc import Awaitable

import msgspec

from malipo import randomness
from malipo.networks import rsa
from malipo.networks.answers import failed_query, nothing_sent
from malipo.networks.authorized_calls import TokenCalls, TokenWire
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Callback,
    CallbackReport,
    PaymentInstruction,
    Resubmit,
    Type,
)
from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent, text_of, token_of
from malipo.networks.mpesa import callbacks, replies
from malipo.networks.requirements import Requirements
from malipo.networks.text import cleaned
from malipo.networks.token_cache import Token
from malipo.settings.networks import MpesaSettings

_encode = msgspec.json.Encoder().encode


class Mpesa:
    name = "mpesa"
    requirements = Requirements(
        address="mpesa_base_url",
        needs=("mpesa_api_key", "mpesa_public_key", "mpesa_service_provider_code"),
        encrypted=(("mpesa_api_key", "mpesa_public_key"),),
    )

    def __init__(self, settings: MpesaSettings, http_client: HttpClient) -> None:
        assert settings.mpesa_base_url
        assert settings.mpesa_api_key
        assert settings.mpesa_public_key
        self._settings = settings
        self._http_client = http_client
        self._base = settings.mpesa_base_url.rstrip("/") + "/"
        self._api_key = settings.mpesa_api_key
        self._public_key = rsa.public_key(settings.mpesa_public_key)
        self.timeout_seconds: float = settings.mpesa_timeout_seconds
        self.concurrency = settings.mpesa_concurrency
        wire = TokenWire(
            request=self._request_session,
            read=self._read_session,
            headers=self._headers,
            refusal=replies.of_refused_session,
            called="session",
        )
        self._calls = TokenCalls(http_client, wire, base=self._base, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # INS-10

    def can_query(self, type_: Type) -> bool:
        return True

    async def send(self, instruction: PaymentInstruction) -> Answer:
        is_payout = instruction.type is Type.DISBURSEMENT
        description = "input_PaymentItemsDesc" if is_payout else "input_PurchasedItemsDesc"
        body = {
            "input_Amount": str(instruction.amount),
            "input_CustomerMSISDN": instruction.phone.removeprefix("+"),
            "input_Country": self._settings.mpesa_country,
            "input_Currency": self._settings.mpesa_currency,
            "input_ServiceProviderCode": self._settings.mpesa_service_provider_code,
            "input_TransactionReference": instruction.key,
            "input_ThirdPartyConversationID": instruction.key,
            description: cleaned(instruction.note, least=1, most=256),
        }
        path = self._settings.mpesa_disbursement_path if is_payout else self._settings.mpesa_collection_path
        reply = await self._calls.call("POST", path, _encode(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply, instruction)

    async def query(self, instruction: PaymentInstruction) -> Answer:
        query = "&".join(
            (
                f"input_QueryReference={instruction.key}",
                f"input_ServiceProviderCode={self._settings.mpesa_service_provider_code}",
                f"input_ThirdPartyConversationID={randomness.token_hex(16)}",
                f"input_Country={self._settings.mpesa_country}",
            )
        )
        reply = await self._calls.call("GET", f"{self._settings.mpesa_query_path}?{query}")
        return failed_query(reply) if isinstance(reply, Answer) else replies.of_query(reply)

    async def probe(self) -> Answer:
        return await self._calls.probe()

    def read(self, callback: Callback) -> CallbackReport | None:
        return callbacks.read(callback)

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement:
        return callbacks.acknowledge(callback, report)

    def _headers(self, bearer: str, body: bytes | None) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {bearer}",
            "Content-Type": "application/json",
            "Origin": self._settings.mpesa_origin,
        }

    def _request_session(self) -> Awaitable[Reply | RequestUnsent | ReplyLost]:
        return self._http_client.call(
            "GET",
            self._base + self._settings.mpesa_session_path.lstrip("/"),
            headers=self._headers(rsa.encrypted(self._public_key, self._api_key), None),
            timeout_seconds=self.timeout_seconds,
        )

    def _read_session(self, reply: Reply) -> Token | Answer:
        """The token that authorises the next calls, and how long it is good."""
        fields = reply.json() or {}
        session, code = token_of(fields.get("output_SessionID")), text_of(fields.get("output_ResponseCode"))
        if code != "INS-0" or not session:
            return replies.of_no_session(reply)
        try:
            return rsa.encrypted(self._public_key, session), self._settings.mpesa_session_seconds
        except ValueError:
            return nothing_sent("session", "it is longer than the key")
