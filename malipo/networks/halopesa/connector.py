"""HaloPesa, direct: a SOAP push with a checksum, and its result by callback. Collections only.

No query is published, so a payment ends only by callback. It is unsigned: it counts only from the addresses that the
operator has listed.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime

from malipo import clock as clocks
from malipo.networks.answers import misconfigured, nothing_sent
from malipo.networks.authorized_calls import reply_or_answer
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
from malipo.networks.halopesa import callbacks, codes, replies
from malipo.networks.http import xml
from malipo.networks.http.client import HttpClient, ReplyLost, RequestUnsent
from malipo.networks.requirements import Requirements
from malipo.settings.networks import HalopesaSettings

_NAMESPACE = "http://ws.merchant.vmoney.viettel.com/"

# The answer to a probe: a 500 may only mean that it does not understand the probe; these mean that it is down.
_TROUBLE = (408, 502, 503, 504)


class Halopesa:
    name = "halopesa"
    requirements = Requirements(
        address="halopesa_url",
        needs=("halopesa_username", "halopesa_password", "halopesa_secret_key", "halopesa_account"),
        query=(),
    )

    def __init__(
        self, settings: HalopesaSettings, http_client: HttpClient, *, clock: Callable[[], datetime] = clocks.now
    ) -> None:
        self._settings = settings
        self._http_client = http_client
        self._clock = clock
        self.timeout_seconds: float = settings.halopesa_timeout_seconds
        self.concurrency = settings.halopesa_concurrency
        self._results = codes.callbacks(settings.halopesa_failed_codes)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # 9004

    def can_query(self, type_: Type) -> bool:
        return False

    async def send(self, instruction: PaymentInstruction) -> Answer:
        if instruction.type is not Type.COLLECTION:
            return misconfigured(replies.NETWORK, "no payouts", "it pays out through an aggregator")
        reply = reply_or_answer(
            await self._http_client.call(
                "POST",
                self._settings.halopesa_url or "",
                headers={"Content-Type": "text/xml;charset=UTF-8", "SOAPAction": '""'},
                body=self._envelope(instruction),
                timeout_seconds=self.timeout_seconds,
            )
        )
        return reply if isinstance(reply, Answer) else replies.of_push(reply, instruction)

    async def query(self, instruction: PaymentInstruction) -> Answer:
        return Answer(verdict=Verdict.UNKNOWN, code="no query")

    async def probe(self) -> Answer:
        """There is no harmless request. Any answer at all says that it is up."""
        reply = await self._http_client.call(
            "GET", self._settings.halopesa_url or "", headers={}, timeout_seconds=self.timeout_seconds
        )
        if isinstance(reply, RequestUnsent | ReplyLost):
            return nothing_sent("unsent", reply.reason)
        return Answer(verdict=Verdict.WAITING, code=f"HTTP {reply.status}", is_fault=reply.status in _TROUBLE)

    def read(self, callback: Callback) -> CallbackReport | None:
        return callbacks.read(callback, self._results)

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement:
        return callbacks.acknowledge(report, self._now())

    def _now(self) -> str:
        return self._clock().astimezone(clocks.ZONE).strftime("%Y%m%d%H%M%S")

    def _envelope(self, instruction: PaymentInstruction) -> bytes:
        signed = {
            "requestid": instruction.key,
            "username": self._settings.halopesa_username or "",
            "password": self._settings.halopesa_password or "",
            "request_time": self._now(),
            "amount": str(instruction.amount),
            "sender_msisdn": instruction.phone.removeprefix("+"),
            "beneficiary_accountid": self._settings.halopesa_account or "",
            "referenceid": instruction.key,
        }
        secret = self._settings.halopesa_secret_key or ""
        fields = dict(signed)
        if self._settings.halopesa_business_number is not None:
            fields["business_no"] = self._settings.halopesa_business_number
        fields |= {
            "function_code": self._settings.halopesa_function_code,
            "addition_data": "",
            "check_sum": hashlib.sha256(("".join(signed.values()) + secret).encode()).hexdigest(),
        }
        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            f'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:ws="{_NAMESPACE}">'
            "<soapenv:Header/><soapenv:Body><ws:HaloPesaServiceAPI>"
            f"<request>{xml.elements(fields)}</request>"
            "</ws:HaloPesaServiceAPI></soapenv:Body></soapenv:Envelope>"
        ).encode()
