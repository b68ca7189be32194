"""A merchant's program that speaks to HaloPesa, written from the wire facts alone."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

import aiohttp

SIGNED = (
    "requestid",
    "username",
    "password",
    "request_time",
    "amount",
    "sender_msisdn",
    "beneficiary_accountid",
    "referenceid",
)


@dataclass
class Answer:
    status: int
    body: Any

    @property
    def code(self) -> str:
        found: str = self.body["response_code"]
        return found


def fields_of(text: str | bytes) -> dict[str, str]:
    """The fields of a reply or a callback, by their names without prefix and in lower case."""
    root = ElementTree.fromstring(text)  # noqa: S314 - the simulator's.
    return {each.tag.rpartition("}")[2].lower(): each.text or "" for each in root.iter() if len(each) == 0}


class Halopesa:
    def __init__(self, http: aiohttp.ClientSession, url: str, credentials: dict[str, Any]) -> None:
        self._http = http
        self._address = url + credentials["servicePath"]
        self.given = credentials

    def fields(self, phone: str, amount: str = "1000", reference: str = "") -> dict[str, str]:
        return {
            "requestid": secrets.token_hex(8),
            "username": self.given["username"],
            "password": self.given["password"],
            "request_time": datetime.now(ZoneInfo("Africa/Dar_es_Salaam")).strftime("%Y%m%d%H%M%S"),
            "amount": amount,
            "sender_msisdn": phone.lstrip("+"),
            "beneficiary_accountid": self.given["beneficiaryAccountId"],
            "referenceid": reference or secrets.token_hex(8),
            "business_no": self.given["businessNo"],
            "function_code": "ASYNC_PAYMENT_USSD_PUSH",
            "addition_data": "",
        }

    def sign(self, fields: dict[str, str]) -> dict[str, str]:
        text = "".join(fields.get(name, "") for name in SIGNED) + self.given["secretKey"]
        return {**fields, "check_sum": hashlib.sha256(text.encode()).hexdigest()}

    async def send(self, fields: dict[str, str]) -> Answer:
        inside = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())
        return await self.post(
            '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
            'xmlns:ws="http://ws.merchant.vmoney.viettel.com/"><soapenv:Header/><soapenv:Body>'
            f"<ws:HaloPesaServiceAPI><request>{inside}</request></ws:HaloPesaServiceAPI>"
            "</soapenv:Body></soapenv:Envelope>"
        )

    async def post(self, text: str) -> Answer:
        headers = {"Content-Type": "text/xml"}
        async with self._http.post(self._address, data=text.encode(), headers=headers) as answer:
            body = await answer.text()
            is_soap = answer.content_type == "text/xml"
            return Answer(answer.status, fields_of(body) if is_soap else body)

    async def collect(self, phone: str, amount: str = "1000", reference: str = "") -> Answer:
        return await self.send(self.sign(self.fields(phone, amount, reference)))
