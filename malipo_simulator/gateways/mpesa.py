"""The gateway of M-Pesa's OpenAPI. Its fields and codes are in `mpesa_rules`."""

import base64
import secrets
from itertools import cycle
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from malipo_simulator import randomness
from malipo_simulator.behaviour import Outcome, PaymentKind, ReplyTiming, plan_of
from malipo_simulator.credentials import Keys
from malipo_simulator.gateways import mpesa_rules as rules
from malipo_simulator.gateways.gateway import HTML_500, JSON, Gateway, Notice, Reply, Request, encode, json_reply, lost
from malipo_simulator.gateways.rsa import RsaSecrets, new_private_key
from malipo_simulator.network import GatewayPayment, Network
from malipo_simulator.switches import MpesaSwitches
from malipo_simulator.transaction import GatewayName, Transaction

_ENVIRONMENTS = ("sandbox", "openapi")
_SANDBOX = "/sandbox/"
_REFUSED_AT_ONCE = (Outcome.NOT_REGISTERED, Outcome.FLOAT_TOO_LOW)


def mint() -> Keys:
    return {
        "apiKey": randomness.token_urlsafe(24).replace("-", "x").replace("_", "y"),
        "privateKey": new_private_key(),
        "serviceProviderCode": "000000",
        "origin": "127.0.0.1",
    }


class Mpesa(Gateway):
    name = GatewayName.MPESA
    root = "/mpesa"

    def __init__(self, network: Network, keys: Keys) -> None:
        self._network = network
        self._keys = keys
        self._encrypted = RsaSecrets(keys["privateKey"])
        self._sessions: dict[str, tuple[float, float]] = {}  # live from, until
        self._not_found_codes = cycle(("INS-23", "INS-6140"))
        self._paths = {
            ("GET", "getSession"): self._open_session,
            ("POST", "c2bPayment/singleStage"): self._collect,
            ("POST", "b2cPayment"): self._disburse,
            ("GET", "queryTransactionStatus"): self._query,
        }

    def credentials(self) -> dict[str, Any]:
        return {
            "apiKey": self._keys["apiKey"],
            "publicKey": self._encrypted.public_key,
            "serviceProviderCode": self._keys["serviceProviderCode"],
            "origin": self._keys["origin"],
            "country": "TZN",
            "currency": "TZS",
            "basePath": f"{self.root}/sandbox/ipg/v2/{rules.MARKET}",
            "mode": self._network.control.of(MpesaSwitches).mode,
        }

    async def answer(self, request: Request) -> Reply:
        _, environment, ipg, version, market, *rest = (*request.path.split("/"), "", "", "", "")
        operation = "/".join(rest).strip("/")
        handler = self._paths.get((request.method, operation))
        if handler is None or environment not in _ENVIRONMENTS or (ipg, version) != ("ipg", "v2"):
            return _gateway_error(404, "Resource not found")
        if market != rules.MARKET:
            return _coded("INS-998")
        origin = request.header(b"origin")
        if origin != self._keys["origin"] and not (origin == "*" and environment == "sandbox"):
            return _gateway_error(401, "Origin is missing or not registered")
        encrypted = request.header(b"authorization").removeprefix("Bearer ")
        opened = self._encrypted.open(encrypted)
        if opened is None:
            return _gateway_error(401, "Invalid bearer token")
        return await handler(request, opened)

    async def _open_session(self, request: Request, opened: str) -> Reply:
        if not secrets.compare_digest(opened.encode(), self._keys["apiKey"].encode()):
            return _coded("INS-989")
        now = self._network.now()
        switches = self._network.control.of(MpesaSwitches)
        self._sessions = {id_: times for id_, times in self._sessions.items() if now < times[1]}
        session_id = randomness.token_hex(16)
        live_from = now + switches.session_delay_seconds / self._network.control.speed
        self._sessions[session_id] = (live_from, live_from + switches.session_seconds)
        body = {"output_ResponseCode": "INS-0", "output_ResponseDesc": rules.CODES["INS-0"][1]}
        return json_reply(200, {**body, "output_SessionID": session_id})

    def _is_session(self, opened: str) -> bool:
        live_from, until = self._sessions.get(opened, (0.0, 0.0))
        return live_from <= self._network.now() < until

    async def _collect(self, request: Request, opened: str) -> Reply:
        return await self._pay(PaymentKind.COLLECTION, request, opened)

    async def _disburse(self, request: Request, opened: str) -> Reply:
        return await self._pay(PaymentKind.DISBURSEMENT, request, opened)

    async def _pay(self, kind: PaymentKind, request: Request, opened: str) -> Reply:
        if not self._is_session(opened):
            return _gateway_error(401, "Invalid or expired session")
        try:
            fields = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.MsgspecError:
            return _coded("INS-21")
        conversation: Any = fields.get("input_ThirdPartyConversationID")
        is_sandbox = request.path.startswith(_SANDBOX)
        if is_sandbox:
            rules.take_number(fields)
        if code := rules.refusal(fields, rules.PAYMENT_RULES[kind], self._keys["serviceProviderCode"]):
            return _coded(code, conversation)
        msisdn = fields["input_CustomerMSISDN"]
        if is_sandbox and (code := rules.TRIGGERS[kind].get(msisdn)):
            return _coded(code, conversation)
        amount, phone = rules.amount_of(fields["input_Amount"]), rules.phone_of(msisdn, is_sandbox=is_sandbox)
        if amount is None or phone is None:
            return _coded("INS-15" if amount is None else "INS-2051", conversation)
        if plan_of(kind, phone).answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=phone)
        if self._network.is_repeat(self._network.find(self.name, conversation)):
            return _coded("INS-10", conversation)
        note = fields.get("input_PurchasedItemsDesc") or fields.get("input_PaymentItemsDesc")
        ask = GatewayPayment(
            gateway=self.name,
            channel="MPESA",
            kind=kind,
            phone=phone,
            amount=amount,
            reference=conversation,
            network_id=randomness.token_hex(16),
            receipt=base64.b32encode(randomness.token_bytes(8)).decode()[:12],
            note=f"{fields['input_TransactionReference']}: {note}",
        )
        return await self._reply(ask)

    async def _reply(self, ask: GatewayPayment) -> Reply:
        is_sync = self._network.control.of(MpesaSwitches).mode == "sync"
        transaction = self._network.take(ask, is_reply_final=is_sync)
        if not await self._network.may_reply(transaction, is_final=is_sync):
            return lost(transaction)
        code, receipt = "INS-0", None
        if is_sync or transaction.outcome in _REFUSED_AT_ONCE:
            code = rules.CODE_OF[transaction.outcome or Outcome.EXPIRED]
            receipt = transaction.receipt if transaction.has_moved else "N/A"
        status, description = rules.CODES[code]
        body = {
            "output_ResponseCode": code,
            "output_ResponseDesc": description,
            "output_TransactionID": receipt,
            "output_ConversationID": transaction.network_id,
            "output_ThirdPartyConversationID": transaction.reference,
        }
        if receipt is None:
            del body["output_TransactionID"]
        return json_reply(status, body, transaction)

    async def _query(self, request: Request, opened: str) -> Reply:
        if not self._is_session(opened):
            return _gateway_error(401, "Invalid or expired session")
        fields = dict(parse_qsl(request.query.decode("latin-1")))
        conversation = fields.get("input_ThirdPartyConversationID")
        switches = self._network.control.of(MpesaSwitches)
        if switches.wrong_query_credentials or switches.query_error:
            return _coded("INS-2001" if switches.wrong_query_credentials else switches.query_error or "", conversation)
        if code := rules.refusal(fields, rules.QUERY_RULES, self._keys["serviceProviderCode"]):
            return _coded(code, conversation)
        reference = fields["input_QueryReference"]
        if request.path.startswith(_SANDBOX) and (code := rules.QUERY_TRIGGERS.get(reference)):
            return _coded(code, conversation)
        transaction = self._network.look(self._asked_about(reference))
        if transaction is None and request.path.startswith(_SANDBOX) and reference == rules.FOUND_TRIGGER:
            return _found("Completed", conversation, receipt=reference)
        if transaction is None:
            code = switches.not_found_code
            return _coded(next(self._not_found_codes) if code == "both" else code, conversation)
        status = rules.STATUS_OF.get(transaction.outcome, switches.pending_answer)
        if status.startswith("INS-"):
            return _coded(status, conversation)
        receipt = transaction.receipt if transaction.has_moved else "N/A"
        is_reversed = transaction.outcome is Outcome.REVERSED
        return _found(status, conversation, receipt=receipt, is_reversed=is_reversed, about=transaction)

    def _asked_about(self, reference: str) -> Transaction | None:
        """By our id, by theirs, or by the receipt that only a finished payment has."""
        memory = self._network.memory
        found = self._network.find(self.name, reference) or memory.by_network_id[self.name].get(reference)
        if found is None:
            found = memory.by_receipt[self.name].get(reference)
            return found if found and found.has_moved else None
        return found

    def notice(self, transaction: Transaction) -> Notice | None:
        assert transaction.outcome is not None
        if transaction.outcome is Outcome.REVERSED:
            return None  # M-Pesa sends no callback about it: only a query shows it.
        code, description = rules.CALLBACK_RESULT_OF[transaction.outcome]
        body = {
            "input_OriginalConversationID": transaction.network_id,
            "input_TransactionID": transaction.receipt if transaction.outcome is Outcome.SUCCESS else "N/A",
            "input_ResultCode": code,
            "input_ResultDesc": description,
            "input_ThirdPartyConversationID": transaction.reference,
        }
        return Notice(encode(body), JSON, lambda reply: _wrong_with(reply, transaction))


def _wrong_with(reply: bytes, transaction: Transaction) -> str:
    try:
        body = msgspec.json.decode(reply, type=dict[str, Any])
    except msgspec.MsgspecError:
        return "not a JSON object"
    wanted = {
        "output_OriginalConversationID": transaction.network_id,
        "output_ResponseCode": "0",
        "output_ThirdPartyConversationID": transaction.reference,
    }
    wrong = [name for name, value in wanted.items() if body.get(name) != value]
    if not isinstance(body.get("output_ResponseDesc"), str):
        wrong.append("output_ResponseDesc")
    return ", ".join(wrong)


def _gateway_error(status: int, text: str) -> Reply:
    return json_reply(status, {"output_error": text})


def _coded(code: str, conversation: object = None) -> Reply:
    status, description = rules.CODES.get(code, rules.UNLISTED)
    body = {
        "output_ResponseCode": code,
        "output_ResponseDesc": description,
        "output_TransactionID": "N/A",
        "output_ConversationID": randomness.token_hex(16),
        "output_ThirdPartyConversationID": conversation if isinstance(conversation, str) else "N/A",
    }
    return json_reply(status, body)


def _found(
    status: str,
    conversation: str | None,
    *,
    receipt: str,
    is_reversed: bool = False,
    about: Transaction | None = None,
) -> Reply:
    body = {
        "output_ResponseCode": "INS-0",
        "output_ResponseDesc": rules.CODES["INS-0"][1],
        "output_ResponseTransactionStatus": status,
        "output_ConversationID": randomness.token_hex(16),
        "output_ThirdPartyConversationID": conversation,
        "output_OriginalTransactionID": receipt,
        "output_Reversed": str(is_reversed),
    }
    return json_reply(200, body, about)
