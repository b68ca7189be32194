"""The gateway of Airtel Money's Open API. Its fields and codes are in `airtel_rules`."""

import base64
import hashlib
import hmac
import re
import time
from itertools import count
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from malipo_simulator import randomness
from malipo_simulator.behaviour import Outcome, PaymentKind, ReplyTiming, plan_of
from malipo_simulator.credentials import Keys
from malipo_simulator.gateways import airtel_rules as rules
from malipo_simulator.gateways.airtel_signature import is_signed
from malipo_simulator.gateways.airtel_summary import MERCHANT_NUMBER, summary
from malipo_simulator.gateways.gateway import HTML_500, JSON, Gateway, Notice, Reply, Request, encode, json_reply, lost
from malipo_simulator.gateways.rsa import RsaSecrets, new_private_key
from malipo_simulator.network import GatewayPayment, Network
from malipo_simulator.statements.account import balance_of
from malipo_simulator.subscriber_names import subscriber_of
from malipo_simulator.switches import AirtelSwitches
from malipo_simulator.transaction import GatewayName, Transaction

_COLLECT = re.compile(r"/merchant/v[12]/payments/?")
_DISBURSE = re.compile(r"/standard/v([123])/disbursements/?")
_ENQUIRE = re.compile(r"/standard/v([123])/(payments|disbursements)/([^/]+)/?")
_USER = re.compile(r"/standard/v1/users/([^/]+)/?")
_KIND_OF = {"payments": PaymentKind.COLLECTION, "disbursements": PaymentKind.DISBURSEMENT}


def mint() -> Keys:
    return {
        "clientId": randomness.token_hex(16),
        "clientSecret": randomness.token_hex(16),
        "pin": f"{randomness.below(10_000):04}",
        "privateKey": new_private_key(),
        "callbackKey": randomness.token_hex(16),
    }


class Airtel(Gateway):
    name = GatewayName.AIRTEL_MONEY
    root = "/airtel"

    def __init__(self, network: Network, keys: Keys) -> None:
        self._network = network
        self._keys = keys
        self._encrypted = RsaSecrets(keys["privateKey"])
        self._tokens: dict[str, float] = {}  # until when
        self._numbers = count(randomness.below(10**6))  # of receipts, one after the other as networks have them

    def credentials(self) -> dict[str, Any]:
        shown = {name: self._keys[name] for name in ("clientId", "clientSecret", "pin", "callbackKey")}
        switches = self._network.control.of(AirtelSwitches)
        return {
            "basePath": self.root,
            **shown,
            "publicKey": self._encrypted.public_key,
            "pinPadding": switches.pin_padding,
            "signing": switches.signing,
            "callbackForm": switches.callback_form,
            "msisdn": MERCHANT_NUMBER,
            "country": rules.COUNTRY,
            "currency": rules.CURRENCY,
        }

    async def answer(self, request: Request) -> Reply:
        path, method = request.path, request.method
        if path.rstrip("/") == "/auth/oauth2/token" and method == "POST":
            return self._open_session(request)
        scheme, _, token = request.header(b"authorization").partition(" ")
        if scheme.lower() != "bearer" or self._tokens.get(token, 0) <= self._network.now():
            return json_reply(401, {"error": "invalid_token", "error_description": "The access token is invalid."})
        if refused := rules.header_refusal(request.header(b"x-country"), request.header(b"x-currency")):
            return _refuse(refused)
        if method == "POST" and _COLLECT.fullmatch(path):
            return await self._collect(request)
        if method == "POST" and (found := _DISBURSE.fullmatch(path)):
            return await self._disburse(request, int(found[1]))
        if method == "GET" and (found := _ENQUIRE.fullmatch(path)):
            return self._enquire(request, int(found[1]), _KIND_OF[found[2]], found[3])
        if method == "GET" and path.rstrip("/") == "/v1/rsa/encryption-keys":
            return self._show_key()
        if method == "GET" and path.rstrip("/") == "/standard/v1/users/balance":
            return self._balance()
        if method == "GET" and (found := _USER.fullmatch(path)):
            return self._show_user(found[1])
        if method == "GET" and path.rstrip("/") == "/merchant/v1/transactions":
            return self._summary(request)
        return json_reply(404, {"status": _status("404", False, "Not Found")})

    def _balance(self) -> Reply:
        if refused := self._query_refusal():
            return refused
        # In groups of three and with cents, as text.
        held = f"{balance_of(self._network.memory, self.name):,}.00"
        data = {"balance": held, "currency": rules.CURRENCY, "account_status": "Active"}
        return json_reply(200, {"data": data, "status": _status("200", True, "SUCCESS")})

    def _show_user(self, msisdn: str) -> Reply:
        """Who has a number. Money cannot be sent to one that is barred, nor to one without a PIN."""
        if refused := self._query_refusal() or rules.number_refusal(msisdn):
            return refused if isinstance(refused, Reply) else _refuse(refused)
        phone = f"+255{msisdn}"
        if plan_of(PaymentKind.DISBURSEMENT, phone).answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=phone)
        subscriber = subscriber_of(phone)
        if not subscriber.is_registered:
            return _refuse(rules.NO_SUCH_USER)
        data = {
            "first_name": subscriber.first_name,
            "last_name": subscriber.last_name,
            "grade": "SUBS",
            "is_barred": subscriber.is_barred,
            "is_pin_set": True,
            "msisdn": msisdn,
            "reg_status": "Y",
            "registration": {"id": msisdn, "status": "SUBS"},
        }
        return json_reply(200, {"data": data, "status": _status("200", True, "SUCCESS", "DP02200000001")})

    def _summary(self, request: Request) -> Reply:
        if refused := self._query_refusal():
            return refused
        query = dict(parse_qsl(request.query.decode("latin-1")))
        page = summary(self._network.memory, query, self._network.control.of(AirtelSwitches))
        if isinstance(page, rules.Refused):
            return _refuse(page)
        return json_reply(200, {"data": page, "status": _status("200", True, "SUCCESS")})

    def _query_refusal(self) -> Reply | None:
        switches = self._network.control.of(AirtelSwitches)
        if switches.wrong_query_credentials:
            return json_reply(403, {"error": "forbidden", "error_description": "Access to this API is denied."})
        return _refuse(rules.query_refusal(switches.query_error)) if switches.query_error else None

    def _open_session(self, request: Request) -> Reply:
        try:
            body = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.MsgspecError:
            return json_reply(400, {"error": "invalid_request", "error_description": "The body is not JSON."})
        if body.get("grant_type") != "client_credentials":
            text = "Unsupported grant type"
            return json_reply(400, {"error": "unsupported_grant_type", "error_description": text})
        given = (body.get("client_id"), body.get("client_secret"))
        if given != (self._keys["clientId"], self._keys["clientSecret"]):
            return json_reply(401, {"error": "invalid_client", "error_description": "Invalid client authentication"})
        now, seconds = self._network.now(), self._network.control.of(AirtelSwitches).token_seconds
        self._tokens = {token: until for token, until in self._tokens.items() if now < until}
        token = randomness.token_urlsafe(24)
        self._tokens[token] = now + seconds
        # A number in text, as it often comes.
        return json_reply(200, {"access_token": token, "expires_in": f"{seconds:g}", "token_type": "bearer"})

    def _may_pass(self, request: Request) -> bool:
        """Whether it is signed, or need not be."""
        if not request.body or self._network.control.of(AirtelSwitches).signing == "off":
            return True
        key_and_iv = self._open(request.header(b"x-key"))
        signature = request.header(b"x-signature")
        return key_and_iv is not None and is_signed(request.body, key_and_iv=key_and_iv, signature=signature)

    def _open(self, encrypted: str) -> str | None:
        return self._encrypted.open(encrypted, is_oaep=self._network.control.of(AirtelSwitches).pin_padding == "oaep")

    async def _collect(self, request: Request) -> Reply:
        if not self._may_pass(request):
            return _refuse(rules.FORBIDDEN[PaymentKind.COLLECTION])
        payment = rules.read_collection(_json(request.body))
        if isinstance(payment, rules.Refused):
            return _refuse(payment)
        transaction = self._take(PaymentKind.COLLECTION, payment)
        if isinstance(transaction, Reply):
            return transaction
        if not await self._network.may_reply(transaction, is_final=False):
            return lost(transaction)
        # It only says that the prompt was sent, whatever it sounds like.
        body = {
            "data": {"transaction": {"id": transaction.reference, "status": "SUCCESS"}},
            "status": _status("200", True, "SUCCESS", "DP00800001006"),
        }
        return json_reply(200, body, transaction)

    async def _disburse(self, request: Request, version: int) -> Reply:
        if not self._may_pass(request):
            return _refuse(rules.FORBIDDEN[PaymentKind.DISBURSEMENT])
        payment = rules.read_disbursement(_json(request.body), version)
        if isinstance(payment, rules.Refused):
            return _refuse(payment)
        pin = self._open(payment.pin)
        if pin is None or not re.fullmatch("[0-9]{4}", pin):
            return _refuse(rules.PIN_UNREADABLE)
        if pin != self._keys["pin"]:
            return _refuse(rules.PIN_WRONG)
        transaction = self._take(PaymentKind.DISBURSEMENT, payment)
        if isinstance(transaction, Reply):
            return transaction
        if not await self._network.may_reply(transaction, is_final=False):
            return lost(transaction)
        return _disbursed(transaction)

    def _take(self, kind: PaymentKind, payment: rules.AirtelPayment) -> Transaction | Reply:
        if plan_of(kind, payment.phone).answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=payment.phone)
        if self._network.is_repeat(self._network.find(self.name, payment.id)):
            return _refuse(rules.DUPLICATE[kind])
        minute = time.strftime("%y%m%d.%H%M", time.gmtime(self._network.now()))
        letter, digits = divmod(next(self._numbers) % 10**6, 10**5)
        ask = GatewayPayment(
            gateway=self.name,
            channel="AIRTEL_MONEY",
            kind=kind,
            phone=payment.phone,
            amount=payment.amount,
            reference=payment.id,
            network_id=f"{randomness.below(10**11):011}",
            receipt=f"{'MP' if kind is PaymentKind.COLLECTION else 'CI'}{minute}.{'ABCDEFGHKL'[letter]}{digits:05}",
            note=payment.reference,
        )
        return self._network.take(ask, is_reply_final=kind is PaymentKind.DISBURSEMENT)

    def _enquire(self, request: Request, version: int, kind: PaymentKind, id_: str) -> Reply:
        if refused_query := self._query_refusal():
            return refused_query
        if kind is PaymentKind.DISBURSEMENT and version == 2:
            query = dict(parse_qsl(request.query.decode("latin-1")))
            if refused := rules.type_refusal("transactionType", query.get("transactionType")):
                return _refuse(refused)
        found = self._network.find(self.name, id_)
        transaction = self._network.look(found if found and found.kind is kind else None)
        if transaction is None:
            status = _status("200", False, "Transaction not found", rules.NOT_FOUND[kind], "ESB000045")
            return json_reply(200, {"status": status})
        words = rules.STATUS_OF[kind][transaction.outcome]
        is_well = transaction.outcome is None or transaction.has_moved
        about = {"id": transaction.reference, "message": words.message, "status": words.status}
        # A failed payment has an id of theirs too; only one that is under way has none.
        if transaction.outcome is not None:
            about["airtel_money_id"] = transaction.receipt
        if kind is PaymentKind.DISBURSEMENT and transaction.has_moved:
            about["reference_id"] = transaction.network_id
        result = "ESB000010" if is_well else "ESB000011"
        status = _status("200", is_well, "SUCCESS" if is_well else "FAILED", words.code, result)
        return json_reply(200, {"data": {"transaction": about}, "status": status}, transaction)

    def _show_key(self) -> Reply:
        until = time.strftime("%d-%m-%Y %H:%M:%S", time.gmtime(self._network.now() + 365 * 86_400))
        key_id = hashlib.sha256(self._encrypted.public_key.encode()).hexdigest()[:16]
        data = {"key_id": key_id, "key": self._encrypted.public_key, "valid_upto": until}
        return json_reply(200, {"data": data, "status": _status("200", True, "SUCCESS", "DP02010001001")})

    def notice(self, transaction: Transaction) -> Notice | None:
        if transaction.outcome is Outcome.REVERSED:
            return None  # Airtel sends no callback about it: only an enquiry shows it.
        words = rules.STATUS_OF[transaction.kind][transaction.outcome]
        is_success = transaction.outcome is Outcome.SUCCESS
        about = {
            "id": transaction.reference,
            "message": f"Paid TZS {transaction.amount}. Trans ID {transaction.receipt}"
            if is_success
            else words.message,
            "status_code": "TS" if is_success else "TF",
            "code": rules.CALLBACK_CODE[transaction.kind] if is_success else words.code,
            "airtel_money_id": transaction.receipt,
        }
        return Notice(self._worded(encode(about)), JSON, lambda reply: "")

    def _worded(self, raw: bytes) -> bytes:
        form = self._network.control.of(AirtelSwitches).callback_form
        if form == "wrapped":
            return b'{"country":"TZ","mno":"AIRTEL","payload":{"transaction":%b}}' % raw
        body = b'{"transaction":%b}' % raw
        if form == "unsigned":
            return body
        signed = raw if form == "signedObject" else body
        digest = hmac.digest(self._keys["callbackKey"].encode(), signed, "sha256")
        return b'%b,"hash":"%b"}' % (body[:-1], base64.b64encode(digest))


def _disbursed(transaction: Transaction) -> Reply:
    words = rules.STATUS_OF[PaymentKind.DISBURSEMENT][transaction.outcome]
    if transaction.outcome in (Outcome.NOT_REGISTERED, Outcome.FLOAT_TOO_LOW):
        return json_reply(400, {"status": _status("400", False, words.message, words.code, "ESB000011")}, transaction)
    about = {"id": transaction.reference, "status": words.status}
    message = words.message
    if transaction.has_moved:
        about |= {"reference_id": transaction.network_id, "airtel_money_id": transaction.receipt}
        message = f"Trans.ID {transaction.receipt}. You have paid TZS {transaction.amount} to {transaction.phone[4:]}."
    is_well = transaction.outcome is not Outcome.FAILED
    status = _status("200", is_well, message, words.code, "ESB000010" if is_well else "ESB000011")
    return json_reply(200, {"data": {"transaction": about}, "status": status}, transaction)


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return None


def _status(
    code: str, is_success: bool, message: str, response_code: str | None = None, result_code: str = "ESB000010"
) -> dict[str, Any]:
    status = {"code": code, "message": message, "result_code": result_code, "success": is_success}
    if response_code is not None:
        status["response_code"] = response_code
    return status


def _refuse(refused: rules.Refused) -> Reply:
    code = refused.http_status
    status = _status(str(code), False, refused.message, refused.response_code, refused.result_code)
    return json_reply(code, {"status": status})
