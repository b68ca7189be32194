"""M-Pesa (Vodacom Tanzania, OpenAPI): an RSA-encrypted session, C2B, B2C, and a status query for both.

An application of theirs is synchronous (the reply to a payment is its result) or asynchronous (the reply says that it
was taken in, the result comes by callback and by query). The reply itself tells which: only a result has a receipt.
Callbacks are unsigned, so they are hints (`mpesa_callbacks.py`). What replies say is in `mpesa_replies.py`, what codes
mean in `mpesa_codes.py`.
"""

import msgspec

from malipo import randomness
from malipo.networks import rsa
from malipo.networks.connector import Acknowledgement, Answer, Callback, News, Order, Resubmit, Type
from malipo.networks.http.client import HttpClient, Lost, Reply, Unsent, text_of, token_of
from malipo.networks.mpesa import callbacks, replies
from malipo.networks.text import cleaned
from malipo.networks.token_auth import NoToken, TokenAuth, failed_query, nothing_sent
from malipo.settings.networks import MpesaSettings

_encode = msgspec.json.Encoder().encode


class Mpesa:
    name = "mpesa"

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
        self._authorised = TokenAuth(self._open_session, timeout_seconds=self.timeout_seconds)
        self.concurrency = settings.mpesa_concurrency

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # INS-10

    def can_query(self, type_: Type) -> bool:
        return True

    async def send(self, order: Order) -> Answer:
        is_payout = order.type is Type.DISBURSEMENT
        description = "input_PaymentItemsDesc" if is_payout else "input_PurchasedItemsDesc"
        body = {
            "input_Amount": str(order.amount),
            "input_CustomerMSISDN": order.phone.removeprefix("+"),
            "input_Country": self._settings.mpesa_country,
            "input_Currency": self._settings.mpesa_currency,
            "input_ServiceProviderCode": self._settings.mpesa_service_provider_code,
            "input_TransactionReference": order.key,
            "input_ThirdPartyConversationID": order.key,
            description: cleaned(order.note, least=1, most=256),
        }
        path = self._settings.mpesa_disbursement_path if is_payout else self._settings.mpesa_collection_path
        reply = await self._call("POST", path, body=_encode(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply, order)

    async def ask(self, order: Order) -> Answer:
        query = "&".join(
            (
                f"input_QueryReference={order.key}",
                f"input_ServiceProviderCode={self._settings.mpesa_service_provider_code}",
                f"input_ThirdPartyConversationID={randomness.token_hex(16)}",
                f"input_Country={self._settings.mpesa_country}",
            )
        )
        reply = await self._call("GET", f"{self._settings.mpesa_query_path}?{query}")
        if isinstance(reply, Answer):
            return failed_query(reply)
        return replies.of_query(reply)

    async def probe(self) -> Answer:
        return await self._authorised.probe(code="session")

    def read(self, callback: Callback) -> News | None:
        return callbacks.read(callback)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        return callbacks.acknowledge(callback, news)

    async def _call(self, method: str, path: str, *, body: bytes | None = None) -> Reply | Answer:
        """A call with the session; once more with a new one, only when told that the session has expired."""
        reply = await self._authorised.call(
            lambda bearer, seconds: self._request(method, path, bearer, body, seconds),
            is_over=lambda reply: bool(replies.session_trouble(reply)),
        )
        if isinstance(reply, Reply) and (said := replies.session_trouble(reply)):
            # A session may take half a minute to become valid. The gateway rejected us, so nothing was accepted.
            return nothing_sent("session", said)
        return reply

    async def _open_session(self) -> tuple[str, float]:
        """What the next calls are authorised with, and for how long."""
        bearer = rsa.encrypted(self._public_key, self._api_key)
        reply = await self._request("GET", self._settings.mpesa_session_path, bearer, None, self.timeout_seconds)
        if isinstance(reply, Unsent | Lost):
            # Lost or not, this was the request for a session: no payment has been sent.
            raise NoToken(nothing_sent("session", reply.reason))
        said = reply.json() or {}
        session, code = token_of(said.get("output_SessionID")), text_of(said.get("output_ResponseCode"))
        if code == "INS-0" and session:
            try:
                return rsa.encrypted(self._public_key, session), self._settings.mpesa_session_seconds
            except ValueError:
                raise NoToken(nothing_sent("session", "it is longer than the key")) from None
        raise NoToken(replies.of_no_session(reply))

    async def _request(
        self, method: str, path: str, bearer: str, body: bytes | None, seconds: float
    ) -> Reply | Unsent | Lost:
        return await self._http_client.call(
            method,
            self._base + path.lstrip("/"),
            headers={
                "Authorization": f"Bearer {bearer}",
                "Content-Type": "application/json",
                "Origin": self._settings.mpesa_origin,
            },
            body=body,
            timeout_seconds=seconds,
        )
