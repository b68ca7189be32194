"""The gateway of HaloPesa: SOAP, a checksum on every request, a push and a callback. Nothing else is public."""

import asyncio
import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from malipo_simulator import randomness
from malipo_simulator.behaviour import Outcome, PaymentKind, ReplyTiming, plan_of
from malipo_simulator.credentials import Keys
from malipo_simulator.gateways import xml
from malipo_simulator.gateways.gateway import HTML_500, XML, Gateway, Notice, Reply, Request, lost
from malipo_simulator.network import GatewayPayment, Network
from malipo_simulator.switches import HalopesaSwitches
from malipo_simulator.transaction import GatewayName, Transaction

_FUNCTION = "ASYNC_PAYMENT_USSD_PUSH"
_EAST_AFRICA = timezone(timedelta(hours=3))
_TIME_FORM = "%Y%m%d%H%M%S"
# The code before the phone has shown the prompt: the payment is under way.
_INTERIM_SECONDS = 0.5

_SIGNED = (
    *("requestid", "username", "password", "request_time", "amount", "sender_msisdn", "beneficiary_accountid"),
    "referenceid",
)
_MESSAGES = {
    "0": "Success",
    "9001": "Cannot parse the request",
    "9003": "Wrong credential",
    "9004": "Duplicate request",
    "9005": "Invalid reference",
    "9006": "Request time is too far off",
    "9007": "Invalid checksum",
    "9008": "Function is not registered",
    "9009": "Balance is too low",
    "9010": "Invalid beneficiary",
    "9020": "Customer declined",
    "9021": "Customer did not respond",
    "9022": "Transaction failed",
}
# Public lists end at 9012, and say nothing of these three but that they are not zero.
_CODE_OF: Mapping[Outcome | None, str] = {
    Outcome.SUCCESS: "0",
    Outcome.BALANCE_TOO_LOW: "9009",
    Outcome.DECLINED: "9020",
    Outcome.EXPIRED: "9021",
    Outcome.FAILED: "9022",
}


def mint() -> Keys:
    return {
        "username": "demoshop",
        "password": randomness.token_urlsafe(12),
        "secretKey": randomness.token_hex(16),
        "beneficiaryAccountId": "620000001",
        "businessNo": "400100",
    }


class Halopesa(Gateway):
    name = GatewayName.HALOPESA
    root = "/halopesa"

    def __init__(self, network: Network, keys: Keys) -> None:
        self._network = network
        self._keys = keys

    def credentials(self) -> dict[str, Any]:
        return {
            "basePath": self.root,
            "servicePath": f"{self.root}/ServiceAPI",
            **self._keys,
            "functionCode": _FUNCTION,
            # Codes that a contract would list: no public source has them.
            "failedCodes": ",".join(code for code in _CODE_OF.values() if code > "9012"),
        }

    async def answer(self, request: Request) -> Reply:
        if request.method != "POST" or request.path.rstrip("/") != "/ServiceAPI":
            return Reply(404, b"Not Found", b"text/plain")
        try:
            root = xml.read(request.body)
        except xml.BadXml:
            return self._reply("9001", "")
        body, asked = root.find("halopesaserviceapi"), root.find("request")
        if root.name != "envelope" or body is None or asked is None:
            return self._reply("9001", "")
        return await self._push(asked.fields())

    async def _push(self, fields: dict[str, str]) -> Reply:
        reference = fields.get("referenceid", "")
        if code := self._wrong_with(fields):
            return self._reply(code, reference)
        phone = f"+{fields['sender_msisdn']}"
        plan = plan_of(PaymentKind.COLLECTION, phone)
        if plan.answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=phone)
        if self._is_repeated(fields["requestid"], reference):
            return self._reply("9004", reference)
        ask = GatewayPayment(
            gateway=self.name,
            channel="HALOPESA",
            kind=PaymentKind.COLLECTION,
            phone=phone,
            amount=int(fields["amount"]),
            reference=reference,
            network_id=fields["requestid"],
            receipt=f"{randomness.below(10**10):010}",
            note=reference,
        )
        transaction = self._network.take(ask, is_reply_final=False)
        if plan.callbacks and self._network.control.of(HalopesaSwitches).sends_interim:
            self._soon_say_under_way(transaction)
        if not await self._network.may_reply(transaction, is_final=False):
            return lost(transaction)
        return self._reply("0", reference, transaction)

    def _is_repeated(self, request_id: str, reference: str) -> bool:
        earlier = self._network.memory.by_network_id[self.name].get(request_id)
        return any(map(self._network.is_repeat, (earlier, self._network.find(self.name, reference))))

    def _wrong_with(self, fields: dict[str, str]) -> str | None:
        """The code that refuses it."""
        if not all(fields.get(name) for name in _SIGNED):
            return "9001"
        if (fields["username"], fields["password"]) != (self._keys["username"], self._keys["password"]):
            return "9003"
        if fields.get("function_code") != _FUNCTION:
            return "9008"
        if not self._is_timely(fields["request_time"]):
            return "9006"
        signed = "".join(fields[name] for name in _SIGNED) + self._keys["secretKey"]
        checksum = hashlib.sha256(signed.encode()).hexdigest()
        if not secrets.compare_digest(checksum.encode(), fields.get("check_sum", "").encode()):
            return "9007"
        is_ours = fields["beneficiary_accountid"] == self._keys["beneficiaryAccountId"]
        if not is_ours or fields.get("business_no", self._keys["businessNo"]) != self._keys["businessNo"]:
            return "9010"
        if not re.fullmatch(r"[\w-]{1,64}", fields["referenceid"], re.ASCII):
            return "9005"
        is_readable = re.fullmatch("[1-9][0-9]{0,9}", fields["amount"], re.ASCII) and re.fullmatch(
            "255[67][0-9]{8}", fields["sender_msisdn"], re.ASCII
        )
        return None if is_readable else "9001"

    def _is_timely(self, text: str) -> bool:
        if not re.fullmatch("[0-9]{14}", text, re.ASCII):
            return False
        try:
            asked = datetime.strptime(text, _TIME_FORM).replace(tzinfo=_EAST_AFRICA).timestamp()
        except ValueError:
            return False
        return abs(asked - self._network.now()) <= self._network.control.of(HalopesaSwitches).skew_seconds

    def _fields(self, code: str, reference: str, *, is_final: bool, receipt: str = "") -> dict[str, str]:
        now = datetime.fromtimestamp(self._network.now(), UTC).astimezone(_EAST_AFRICA)
        return {
            "response_code": code,
            "message": _MESSAGES[code],
            "referenceid": reference,
            "response_time": now.strftime(_TIME_FORM),
            "response_type": "FIN" if is_final else "ACK",
            "addition_data": receipt,
        }

    def _reply(self, code: str, reference: str, about: Transaction | None = None) -> Reply:
        return Reply(200, _enveloped(self._fields(code, reference, is_final=False)), XML, about)

    def _soon_say_under_way(self, transaction: Transaction) -> None:
        fields = self._fields("0", transaction.reference, is_final=False)
        delay_seconds = _INTERIM_SECONDS / self._network.control.speed
        asyncio.get_running_loop().call_later(
            delay_seconds, self._network.tell_aside, transaction, self._worded(fields, transaction)
        )

    def notice(self, transaction: Transaction) -> Notice | None:
        if transaction.outcome is Outcome.REVERSED:
            return None  # No callback, and there is no query.
        receipt = transaction.receipt if transaction.outcome is Outcome.SUCCESS else ""
        code = _CODE_OF[transaction.outcome]
        return self._worded(self._fields(code, transaction.reference, is_final=True, receipt=receipt), transaction)

    def _worded(self, fields: dict[str, str], transaction: Transaction) -> Notice:
        if self._network.control.of(HalopesaSwitches).callback_form == "enveloped":
            fields["ReferenceID"] = fields.pop("referenceid")
            body = _enveloped(fields)
        else:
            body = xml.HEAD + xml.write("response", fields)
        return Notice(body, XML, lambda reply: _wrong_with(reply, transaction))


def _wrong_with(reply: bytes, transaction: Transaction) -> str:
    try:
        root = xml.read(reply)
    except xml.BadXml:
        return "not XML"
    code, reference = root.find("response_code"), root.find("referenceid")
    wrong = [] if code and code.text.strip() == "0" else ["response_code"]
    if not reference or reference.text.strip() != transaction.reference:
        wrong.append("ReferenceID")
    return ", ".join(wrong)


def _enveloped(fields: dict[str, str]) -> bytes:
    return (
        b'%b<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>'
        b'<ns2:HaloPesaServiceAPIResponse xmlns:ns2="http://ws.merchant.vmoney.viettel.com/">%b'
        b"</ns2:HaloPesaServiceAPIResponse></soap:Body></soap:Envelope>"
    ) % (xml.HEAD, xml.write("return", fields))
