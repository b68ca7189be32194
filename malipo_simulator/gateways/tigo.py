"""The gateway of Tigo Pesa (Mixx by Yas): JSON for the push, XML for payouts and the query.

Its fields and codes are in `tigo_rules`. There is no query for payouts.
"""

import time
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from malipo_simulator import randomness
from malipo_simulator.behaviour import Answering, Outcome, PaymentKind, plan_of
from malipo_simulator.credentials import Keys
from malipo_simulator.gateways import tigo_rules as rules
from malipo_simulator.gateways import xml
from malipo_simulator.gateways.gateway import (
    HTML_500,
    JSON,
    XML,
    Gateway,
    Notice,
    Reply,
    Request,
    encode,
    json_reply,
    lost,
)
from malipo_simulator.network import Ask, Network
from malipo_simulator.switches import TigoSwitches
from malipo_simulator.transaction import GatewayName, Transaction

_PATHS = {"tokenPath": "/GetToken", "pushPath": "/PushBillpay", "queryPath": "/TQS", "cashInPath": "/MFICashIn"}
_EAST_AFRICA_SECONDS = 3 * 3600


def mint() -> Keys:
    return {
        "username": "DemoShop",
        "password": randomness.token_urlsafe(12),
        "billerMsisdn": "255710000001",
        "billerCode": "DEMO",
        "accountMsisdn": "255710000002",
        "pin": f"{randomness.below(10_000):04}",
        "brandId": "1234",
        "senderName": "Demo Shop",
    }


class Tigo(Gateway):
    name = GatewayName.TIGO_PESA
    root = "/tigo"

    def __init__(self, network: Network, keys: Keys) -> None:
        self._network = network
        self._keys = keys
        self._tokens: dict[str, float] = {}  # until when
        self._handlers = {
            _PATHS["tokenPath"]: self._open_session,
            _PATHS["pushPath"]: self._push,
            _PATHS["queryPath"]: self._query,
            _PATHS["cashInPath"]: self._cash_in,
        }

    def credentials(self) -> dict[str, Any]:
        paths = {name: self.root + path for name, path in _PATHS.items()}
        return {
            "basePath": self.root,
            **paths,
            **self._keys,
            "cashInType": self._network.control.of(TigoSwitches).cash_in_type,
        }

    async def answer(self, request: Request) -> Reply:
        handler = self._handlers.get(request.path.rstrip("/"))
        if handler is None or request.method != "POST":
            return json_reply(404, {"Message": "No resource was found."})
        return await handler(request)

    async def _open_session(self, request: Request) -> Reply:
        form = dict(parse_qsl(request.body.decode("latin-1")))
        if form.get("grant_type") != "password":
            return json_reply(400, {"error": "unsupported_grant_type", "error_description": "Use password."})
        if (form.get("username"), form.get("password")) != (self._keys["username"], self._keys["password"]):
            text = "The user name or password is incorrect."
            return json_reply(400, {"error": "invalid_grant", "error_description": text})
        now, seconds = self._network.now(), self._network.control.of(TigoSwitches).token_seconds
        self._tokens = {token: until for token, until in self._tokens.items() if now < until}
        token = randomness.token_urlsafe(48)
        self._tokens[token] = now + seconds
        return json_reply(200, {"access_token": token, "token_type": "bearer", "expires_in": int(seconds)})

    async def _push(self, request: Request) -> Reply:
        scheme, _, token = request.header(b"authorization").partition(" ")
        if scheme.lower() != "bearer" or self._tokens.get(token, 0) <= self._network.now():
            return json_reply(401, {"Message": "Authorization has been denied for this request."})
        try:
            body = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.MsgspecError:
            return json_reply(400, {"Message": "The request is invalid."})
        if code := self._wrong_with_headers(request):
            return _pushed(code, body.get("ReferenceID"))
        payment = rules.read_push(body, biller_msisdn=self._keys["billerMsisdn"], biller_code=self._keys["billerCode"])
        if isinstance(payment, str):
            return _pushed(payment, body.get("ReferenceID"))
        if plan_of(PaymentKind.COLLECTION, payment.phone).answering is Answering.HTML_500:
            return HTML_500._replace(phone=payment.phone)
        if self._network.is_repeat(self._network.find(self.name, payment.reference)):
            return _pushed(rules.DUPLICATE, payment.reference)
        remarks = body.get("Remarks")
        ask = self._ask(
            PaymentKind.COLLECTION, payment, note=remarks if isinstance(remarks, str) else payment.reference
        )
        transaction = self._network.take(ask, is_reply_final=False)
        if not await self._network.may_reply(transaction, is_final=False):
            return lost(transaction)
        return _pushed(rules.ACCEPTED, payment.reference, transaction)

    def _wrong_with_headers(self, request: Request) -> str | None:
        username, password = request.header(b"username"), request.header(b"password")
        if not username:
            return "DebitMandate-10-2001-E"
        if not password:
            return "DebitMandate-10-2003-E"
        is_right = (username, password) == (self._keys["username"], self._keys["password"])
        return None if is_right else "DebitMandate-10-3000-E"

    def _ask(self, kind: PaymentKind, payment: rules.Payment, *, note: str) -> Ask:
        return Ask(
            gateway=self.name,
            channel="TIGO_PESA",
            kind=kind,
            phone=payment.phone,
            amount=payment.amount,
            reference=payment.reference,
            network_id=randomness.token_hex(8),
            receipt=f"{randomness.below(10**11):011}",
            note=note[:60],
        )

    async def _query(self, request: Request) -> Reply:
        switches = self._network.control.of(TigoSwitches)
        if not switches.has_query:
            return json_reply(404, {"Message": "No resource was found."})
        try:
            fields = xml.read(request.body).fields()
        except xml.BadXml:
            return _xml_refused()
        asked = fields.get("externalrefid", "")
        if fields.get("type") != "MTPGGetSODetails":
            return _details("GetSOError003", "Invalid TYPE", asked)
        is_ours = (fields.get("msisdn"), fields.get("pin")) == (self._keys["billerMsisdn"], self._keys["pin"])
        if not is_ours or switches.wrong_query_credentials:
            return _details("GetSOError001", "Authentication failed", asked)
        if switches.query_error:
            return _details(switches.query_error, "Error", asked)
        found = self._network.find(self.name, asked)
        transaction = self._network.look(found if found and found.kind is PaymentKind.COLLECTION else None)
        if transaction is None:
            return _details(switches.not_found_code, "No details found", asked)
        if transaction.outcome is None:
            return _details("GetSOError011", "Transaction is in progress", asked, transaction)
        return _details("0", "Success", asked, transaction)

    async def _cash_in(self, request: Request) -> Reply:
        try:
            fields = xml.read(request.body).fields()
        except xml.BadXml:
            return _xml_refused()
        type_ = self._network.control.of(TigoSwitches).cash_in_type
        payment = rules.read_cash_in(
            fields, type_=type_, account_msisdn=self._keys["accountMsisdn"], pin=self._keys["pin"]
        )
        if isinstance(payment, str):
            return _cashed_in(payment, fields.get("referenceid", ""), type_)
        if plan_of(PaymentKind.DISBURSEMENT, payment.phone).answering is Answering.HTML_500:
            return HTML_500._replace(phone=payment.phone)
        if self._network.is_repeat(self._network.find(self.name, payment.reference)):
            return _cashed_in(rules.GENERAL_ERROR, payment.reference, type_, message="Duplicate REFERENCEID")
        ask = self._ask(PaymentKind.DISBURSEMENT, payment, note=fields.get("sendername", ""))
        transaction = self._network.take(ask, is_reply_final=True)
        if not await self._network.may_reply(transaction, is_final=True):
            return lost(transaction)
        status = rules.TXNSTATUS_OF[transaction.outcome]
        # The partner is told to hold the amount until it is reconciled: the money may have moved.
        if self._network.control.happens(self._network.control.of(TigoSwitches).general_error_rate):
            status = rules.GENERAL_ERROR
        return _cashed_in(status, payment.reference, type_, transaction)

    def notice(self, transaction: Transaction) -> Notice | None:
        if transaction.kind is PaymentKind.DISBURSEMENT or transaction.outcome is Outcome.REVERSED:
            return None
        is_success = transaction.outcome is Outcome.SUCCESS
        is_text = self._network.control.of(TigoSwitches).callback_status == "string"
        body: dict[str, Any] = {
            "Status": str(is_success).lower() if is_text else is_success,
            "Description": rules.DESCRIPTION_OF[transaction.outcome],
            "ReferenceID": transaction.reference,
            "Amount": str(transaction.amount),
        }
        if is_success:
            body["MFSTransactionID"] = transaction.receipt
        return Notice(encode(body), JSON, lambda reply: _wrong_with(reply, transaction))


def _wrong_with(reply: bytes, transaction: Transaction) -> str:
    try:
        body = msgspec.json.decode(reply, type=dict[str, Any])
    except msgspec.MsgspecError:
        return "not a JSON object"
    wrong = [] if body.get("ResponseCode") in rules.ACKNOWLEDGED else ["ResponseCode"]
    if body.get("ResponseStatus") is not True:
        wrong.append("ResponseStatus")
    if not isinstance(body.get("ResponseDescription"), str):
        wrong.append("ResponseDescription")
    if body.get("ReferenceID") != transaction.reference:
        wrong.append("ReferenceID")
    return ", ".join(wrong)


def _pushed(code: str, reference: object, about: Transaction | None = None) -> Reply:
    body = {
        "ResponseCode": code,
        "ResponseStatus": code == rules.ACCEPTED,
        "ResponseDescription": rules.PUSH_CODES[code],
        "ReferenceID": reference if isinstance(reference, str) else "",
    }
    return json_reply(200, body, about)


def _xml_refused() -> Reply:
    return Reply(400, b"The request is not valid XML.", b"text/plain")


def _details(code: str, description: str, asked: str, transaction: Transaction | None = None) -> Reply:
    is_found = code == "0" and transaction is not None
    has_moved = is_found and transaction is not None and transaction.has_moved
    at = transaction.decided_at if transaction and transaction.decided_at else 0
    fields = {
        "TYPE": "MTPGGetSODetails",
        "RESULTCODE": code,
        "RESULTDESC": description,
        "TXNID": transaction.receipt if transaction and has_moved else "",
        "TXNSTATUS": rules.STATUS_OF.get(transaction.outcome, "Declined") if transaction and is_found else "",
        "EXTERNALREFID": asked,
        "REVERSALREQID": transaction.network_id if transaction and transaction.outcome is Outcome.REVERSED else "",
        "BRANDID": "",
        "MSISDN": transaction.phone[1:] if transaction and is_found else "",
        "COMPANYNAME": transaction.merchant if transaction and is_found else "",
        "AMOUNT": transaction.amount if transaction and is_found else "",
        "REF": "",
        "DATETRANSACTED": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at + _EAST_AFRICA_SECONDS))
        if is_found
        else "",
        "CONTROLNO": "",
    }
    return Reply(200, xml.HEAD + xml.write("COMMAND", fields), XML, transaction)


def _cashed_in(
    status: str, reference: str, type_: str, about: Transaction | None = None, message: str | None = None
) -> Reply:
    fields = {
        "TYPE": type_.replace("REQ", "RES", 1),
        "REFERENCEID": reference,
        "TXNID": about.receipt if about and status == rules.PAID else "",
        "TXNSTATUS": status,
        "MESSAGE": message or rules.MESSAGE_OF[status],
    }
    return Reply(200, xml.HEAD + xml.write("COMMAND", fields), XML, about)
