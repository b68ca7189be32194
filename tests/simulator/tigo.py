"""A merchant's program that speaks to Tigo Pesa, written from the wire facts alone."""

import secrets
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import aiohttp
import msgspec


@dataclass
class Answer:
    status: int
    body: Any

    @property
    def code(self) -> str:
        found: str = self.body.get("ResponseCode") or self.body.get("TXNSTATUS") or self.body["RESULTCODE"]
        return found


class Tigo:
    def __init__(self, http: aiohttp.ClientSession, url: str, credentials: dict[str, Any]) -> None:
        self._http = http
        self._url = url
        self.given = credentials
        self.token = ""

    async def log_in(self, **changes: str) -> Answer:
        form = {"username": self.given["username"], "password": self.given["password"], "grant_type": "password"}
        async with self._http.post(self._url + self.given["tokenPath"], data=form | changes) as answer:
            return Answer(answer.status, await answer.json())

    async def open(self) -> "Tigo":
        self.token = (await self.log_in()).body["access_token"]
        return self

    def reference(self) -> str:
        return f"{self.given['billerCode']}{secrets.token_hex(7)}"

    def push_fields(self, phone: str, amount: Any = 1000, reference: str = "") -> dict[str, Any]:
        return {
            "CustomerMSISDN": phone.lstrip("+"),
            "BillerMSISDN": self.given["billerMsisdn"],
            "Amount": amount,
            "Remarks": "Viatu",
            "ReferenceID": reference or self.reference(),
        }

    async def push(self, body: Any, **changes: str) -> Answer:
        headers = {
            "Authorization": f"bearer {self.token}",
            "Username": self.given["username"],
            "Password": self.given["password"],
            "Cache-Control": "no-cache",
        } | changes
        address = self._url + self.given["pushPath"]
        async with self._http.post(address, json=body, headers=headers) as answer:
            text = await answer.read()
            try:
                return Answer(answer.status, msgspec.json.decode(text))
            except msgspec.DecodeError:
                return Answer(answer.status, text.decode())

    async def collect(self, phone: str, amount: Any = 1000, reference: str = "") -> Answer:
        return await self.push(self.push_fields(phone, amount, reference))

    async def command(self, path: str, fields: dict[str, str], *, raw: bytes | None = None) -> Answer:
        root = ElementTree.Element("COMMAND")
        for name, value in fields.items():
            ElementTree.SubElement(root, name).text = value
        body = ElementTree.tostring(root) if raw is None else raw
        headers = {"Content-Type": "text/xml"}
        async with self._http.post(self._url + self.given[path], data=body, headers=headers) as answer:
            text = await answer.text()
            if answer.status != 200:
                return Answer(answer.status, text)
            found = ElementTree.fromstring(text)  # noqa: S314 - the simulator's.
            assert found.tag == "COMMAND"
            return Answer(answer.status, {child.tag: child.text or "" for child in found})

    def question(self, reference: str) -> dict[str, str]:
        return {
            "TYPE": "MTPGGetSODetails",
            "REFERENCEID": secrets.token_hex(8),
            "MSISDN": self.given["billerMsisdn"],
            "PIN": self.given["pin"],
            "EXTERNALREFID": reference,
        }

    async def ask(self, reference: str) -> Answer:
        return await self.command("queryPath", self.question(reference))

    async def status(self, reference: str) -> str:
        """What became of it, or the code of a query that does not know."""
        answer = await self.ask(reference)
        return str(answer.body["TXNSTATUS"] or answer.body["RESULTCODE"])

    def cash_in_fields(self, phone: str, amount: str = "1000", reference: str = "") -> dict[str, str]:
        return {
            "TYPE": "REQMFICI",
            "REFERENCEID": reference or secrets.token_hex(8),
            "MSISDN": self.given["accountMsisdn"],
            "PIN": self.given["pin"],
            "MSISDN1": phone.lstrip("+"),
            "AMOUNT": amount,
            "LANGUAGE1": "en",
        }

    async def disburse(self, phone: str, amount: str = "1000", reference: str = "") -> Answer:
        return await self.command("cashInPath", self.cash_in_fields(phone, amount, reference))
