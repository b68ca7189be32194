"""Tigo Pesa, now Mixx by Yas: a push in JSON, its result by callback, a query and payouts in XML.

Every address is a partner's own. The query is optional, and there is none for payouts: if a payout's reply is lost,
only an operator can find out, and it is never sent again. Callbacks are unsigned.
"""

from collections.abc import Awaitable
from urllib.parse import urlencode

import msgspec

from malipo import randomness
from malipo.networks.answers import lost
from malipo.networks.authorized_calls import TokenCalls, TokenWire, refused_by_401, reply_or_answer
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Callback,
    CallbackReport,
    PaymentInstruction,
    Resubmit,
    Type,
    Verdict,
)
from malipo.networks.http import xml
from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent
from malipo.networks.requirements import Requirements
from malipo.networks.text import cleaned
from malipo.networks.tigo_pesa import callbacks, codes, replies
from malipo.settings.networks import TigoPesaSettings

_encode = msgspec.json.Encoder().encode


class TigoPesa:
    name = "tigo_pesa"
    requirements = Requirements(
        address="tigo_pesa_push_url",
        needs=(
            "tigo_pesa_token_url",
            "tigo_pesa_disbursement_url",
            "tigo_pesa_username",
            "tigo_pesa_password",
            "tigo_pesa_biller_msisdn",
            "tigo_pesa_account_msisdn",
            "tigo_pesa_pin",
        ),
        query=("tigo_pesa_query_url",),
    )

    def __init__(self, settings: TigoPesaSettings, http_client: HttpClient) -> None:
        self._settings = settings
        self._http_client = http_client
        self.timeout_seconds: float = settings.tigo_pesa_timeout_seconds
        self.concurrency = settings.tigo_pesa_concurrency
        self._results = codes.queries(settings.tigo_pesa_not_found_codes)
        wire = TokenWire(
            request=self._request_token,
            read=replies.of_token,
            headers=self._headers,
            refusal=refused_by_401(replies.NETWORK),
        )
        # Every address is whole.
        self._calls = TokenCalls(http_client, wire, base="", timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.UNSAFE  # The answer to a repeated reference is not published.

    def can_query(self, type_: Type) -> bool:
        return type_ is Type.COLLECTION and self._settings.tigo_pesa_query_url is not None

    async def send(self, instruction: PaymentInstruction) -> Answer:
        return await (self._push(instruction) if instruction.type is Type.COLLECTION else self._pay_out(instruction))

    async def query(self, instruction: PaymentInstruction) -> Answer:
        if not self.can_query(instruction.type):
            return Answer(verdict=Verdict.UNKNOWN, code="no query")
        fields = {
            "TYPE": "MTPGGetSODetails",
            "REFERENCEID": randomness.token_hex(10),  # the id of the query itself, and never twice the same
            "MSISDN": self._settings.tigo_pesa_biller_msisdn or "",
            "PIN": self._settings.tigo_pesa_pin or "",
            "EXTERNALREFID": self._reference(instruction),
        }
        reply = await self._command(self._settings.tigo_pesa_query_url, fields)
        if isinstance(reply, RequestUnsent | ReplyLost):
            return lost(reply.reason)
        return replies.of_query(reply, self._reference(instruction), self._results)

    async def probe(self) -> Answer:
        return await self._calls.probe()

    def read(self, callback: Callback) -> CallbackReport | None:
        return callbacks.read(callback, self._settings)

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement:
        return callbacks.acknowledge(callback, report, self._settings)

    def _reference(self, instruction: PaymentInstruction) -> str:
        return self._settings.tigo_pesa_biller_code + instruction.key

    async def _push(self, instruction: PaymentInstruction) -> Answer:
        body = {
            "CustomerMSISDN": instruction.phone.removeprefix("+"),
            "BillerMSISDN": self._settings.tigo_pesa_biller_msisdn,
            "Amount": instruction.amount,
            "Remarks": cleaned(instruction.note, least=1, most=100),
            "ReferenceID": self._reference(instruction),
        }
        reply = await self._calls.call("POST", self._settings.tigo_pesa_push_url or "", _encode(body))
        return reply if isinstance(reply, Answer) else replies.of_push(reply, self._reference(instruction))

    async def _pay_out(self, instruction: PaymentInstruction) -> Answer:
        fields = {
            "TYPE": self._settings.tigo_pesa_disbursement_type,
            "REFERENCEID": self._reference(instruction),
            "MSISDN": self._settings.tigo_pesa_account_msisdn or "",
            "PIN": self._settings.tigo_pesa_pin or "",
            "MSISDN1": instruction.phone.removeprefix("+"),
            "AMOUNT": str(instruction.amount),
        }
        if self._settings.tigo_pesa_sender_name is not None:
            fields["SENDERNAME"] = self._settings.tigo_pesa_sender_name
        fields["LANGUAGE1"] = self._settings.tigo_pesa_language
        if self._settings.tigo_pesa_brand_id is not None:
            fields["BRAND_ID"] = self._settings.tigo_pesa_brand_id
        reply = reply_or_answer(await self._command(self._settings.tigo_pesa_disbursement_url, fields))
        return reply if isinstance(reply, Answer) else replies.of_payout(reply, self._reference(instruction))

    def _command(self, url: str | None, fields: dict[str, str]) -> Awaitable[Reply | RequestUnsent | ReplyLost]:
        return self._http_client.call(
            "POST",
            url or "",
            headers={"Content-Type": "text/xml;charset=UTF-8"},
            body=f'<?xml version="1.0"?><COMMAND>{xml.elements(fields)}</COMMAND>'.encode(),
            timeout_seconds=self.timeout_seconds,
        )

    def _headers(self, token: str, body: bytes | None) -> dict[str, str]:
        return {
            "Authorization": f"bearer {token}",
            "Username": self._settings.tigo_pesa_username or "",
            "Password": self._settings.tigo_pesa_password or "",
            "Content-Type": "application/json",
            "Cache-Control": "no-cache",
        }

    def _request_token(self) -> Awaitable[Reply | RequestUnsent | ReplyLost]:
        form = {
            "username": self._settings.tigo_pesa_username or "",
            "password": self._settings.tigo_pesa_password or "",
            "grant_type": "password",
        }
        return self._http_client.call(
            "POST",
            self._settings.tigo_pesa_token_url or "",
            headers={"Content-Type": "application/x-www-form-urlencoded", "Cache-Control": "no-cache"},
            body=urlencode(form).encode(),
            timeout_seconds=self.timeout_seconds,
        )
