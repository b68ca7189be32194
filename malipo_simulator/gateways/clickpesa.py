"""The gateway of ClickPesa, an aggregator: one interface to every network. The phone's prefix selects the network."""

import re
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from malipo_simulator import phone as phones
from malipo_simulator import randomness
from malipo_simulator.behaviour import Outcome, PaymentKind, ReplyTiming, plan_of
from malipo_simulator.credentials import Keys
from malipo_simulator.gateways import clickpesa_lists
from malipo_simulator.gateways import clickpesa_rules as rules
from malipo_simulator.gateways.gateway import HTML_500, JSON, Gateway, Notice, Reply, Request, encode, json_reply, lost
from malipo_simulator.json_views import show_time
from malipo_simulator.network import GatewayPayment, Network
from malipo_simulator.statements.account import balance_of
from malipo_simulator.subscriber_names import subscriber_of
from malipo_simulator.switches import ClickpesaSwitches
from malipo_simulator.transaction import GatewayName, Transaction

_ASK = re.compile("/(payments|payouts)/([^/]+)")
_KIND_OF = {"payments": PaymentKind.COLLECTION, "payouts": PaymentKind.DISBURSEMENT}


def mint() -> Keys:
    return {
        "clientId": f"ID{randomness.token_hex(8)}",
        "apiKey": f"SK{randomness.token_hex(16)}",
        "checksumSecret": f"CHK{randomness.token_hex(12)}",
    }


class Clickpesa(Gateway):
    name = GatewayName.CLICKPESA
    root = "/clickpesa"

    def __init__(self, network: Network, keys: Keys) -> None:
        self._network = network
        self._keys = keys
        self._tokens: dict[str, tuple[float, str]] = {}  # until when, and for which checksum settings
        self._posts = {
            "/payments/preview-ussd-push-request": (PaymentKind.COLLECTION, True),
            "/payments/initiate-ussd-push-request": (PaymentKind.COLLECTION, False),
            "/payouts/preview-mobile-money-payout": (PaymentKind.DISBURSEMENT, True),
            "/payouts/create-mobile-money-payout": (PaymentKind.DISBURSEMENT, False),
        }

    def credentials(self) -> dict[str, Any]:
        base = f"{self.root}/third-parties"
        return {"basePath": base, **self._keys, "checksum": self._network.control.of(ClickpesaSwitches).checksum}

    async def answer(self, request: Request) -> Reply:
        if not request.path.startswith("/third-parties/"):
            return _error(404, "Cannot find the resource")
        path = request.path.removeprefix("/third-parties").rstrip("/")
        if request.method == "POST" and path == "/generate-token":
            return self._open_session(request)
        until, setting = self._tokens.get(request.header(b"authorization"), (0.0, ""))
        switches = self._network.control.of(ClickpesaSwitches)
        if until <= self._network.now() or setting != switches.checksum:
            return _error(401, "Unauthorized")
        if request.method == "POST" and path in self._posts:
            kind, is_preview = self._posts[path]
            return await self._pay(kind, request, is_preview=is_preview)
        if request.method == "GET" and path in ("/account/statement", "/payments/all", "/payouts/all"):
            return self._list(path, dict(parse_qsl(request.query.decode("latin-1"))))
        if request.method == "GET" and (found := _ASK.fullmatch(path)):
            return self._show(_KIND_OF[found[1]], found[2])
        if request.method == "GET" and path == "/account/balance":
            return self._balance()
        return _error(404, "Cannot find the resource")

    def _balance(self) -> Reply:
        if refused := self._query_refusal():
            return refused
        held = balance_of(self._network.memory, self.name)
        balances = [{"currency": "USD", "balance": 0}, {"currency": "TZS", "balance": held}]
        form = self._network.control.of(ClickpesaSwitches).balance_form
        return json_reply(200, balances if form == "list" else {"balances": balances})

    def _list(self, path: str, query: dict[str, str]) -> Reply:
        if refused := self._query_refusal():
            return refused
        memory = self._network.memory
        try:
            if path == "/account/statement":
                return json_reply(200, clickpesa_lists.statement(memory, query))
            kind = _KIND_OF[path.split("/")[1]]
            return json_reply(200, clickpesa_lists.page(memory, kind, query, self._described))
        except clickpesa_lists.BadQuery as error:
            return _error(400, str(error))

    def _query_refusal(self) -> Reply | None:
        switches = self._network.control.of(ClickpesaSwitches)
        if switches.wrong_query_credentials:
            return _error(403, "Forbidden resource")
        return _error(int(switches.query_error), "Error") if switches.query_error else None

    def _open_session(self, request: Request) -> Reply:
        given = (request.header(b"client-id"), request.header(b"api-key"))
        if given != (self._keys["clientId"], self._keys["apiKey"]):
            return _error(403, "Invalid client-id or api-key")
        now, switches = self._network.now(), self._network.control.of(ClickpesaSwitches)
        self._tokens = {token: times for token, times in self._tokens.items() if now < times[0]}
        token = f"Bearer {randomness.token_urlsafe(48)}"
        self._tokens[token] = (now + switches.token_seconds, switches.checksum)
        return json_reply(200, {"success": True, "token": token})

    async def _pay(self, kind: PaymentKind, request: Request, *, is_preview: bool) -> Reply:
        try:
            body = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.MsgspecError:
            return _error(400, "The body must be a JSON object")
        if wrong := rules.wrong_with(kind, body, is_preview=is_preview):
            return _error(400, wrong)
        form = self._network.control.of(ClickpesaSwitches).checksum
        if form != "off" and body.get("checksum") != self._checksum(body, form):
            return _error(400, "Invalid checksum")
        phone, reference = f"+{body.get('phoneNumber', '')}", body["orderReference"]
        channel, has_phone = phones.network_of(phone), "phoneNumber" in body
        if has_phone and channel is None:
            return _error(400, rules.BAD_PHONE)
        if plan_of(kind, phone).answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=phone)
        if self._network.is_repeat(self._network.find(self.name, reference)):
            return _error(409, f"Order reference {reference} already exists")
        if is_preview and kind is PaymentKind.DISBURSEMENT and has_phone and not subscriber_of(phone).is_registered:
            return _error(400, rules.REFUSALS[Outcome.NOT_REGISTERED])
        if is_preview or channel is None:
            return json_reply(200, rules.preview(kind, int(body["amount"]), channel, phone))
        return await self._take(kind, channel, phone, body)

    async def _take(self, kind: PaymentKind, channel: str, phone: str, body: dict[str, Any]) -> Reply:
        reference = body["orderReference"]
        ask = GatewayPayment(
            gateway=self.name,
            channel=channel,
            kind=kind,
            phone=phone,
            amount=int(body["amount"]),
            reference=reference,
            network_id=f"LCP{randomness.token_hex(6).upper()}",
            receipt=randomness.token_hex(5).upper(),
            note=reference,
            is_opening_due=kind is PaymentKind.DISBURSEMENT,
        )
        transaction = self._network.take(ask, is_reply_final=False)
        if not await self._network.may_reply(transaction, is_final=False):
            return lost(transaction)
        if transaction.outcome in rules.REFUSALS:
            return json_reply(400, {"message": rules.REFUSALS[transaction.outcome]}, transaction)
        # It is never final, whatever the outcome is by now.
        return json_reply(200, self._described(transaction, is_new=True), transaction)

    def _checksum(self, payload: dict[str, Any], form: str) -> str:
        return rules.checksum(payload, self._keys["checksumSecret"], form)

    def _show(self, kind: PaymentKind, reference: str) -> Reply:
        if refused := self._query_refusal():
            return refused
        found = self._network.find(self.name, reference)
        transaction = self._network.look(found if found and found.kind is kind else None)
        if transaction is None:
            return _error(404, f"Cannot find {'payment' if kind is PaymentKind.COLLECTION else 'payout'} {reference}")
        return json_reply(200, [self._described(transaction)], transaction)

    def _described(self, transaction: Transaction, *, is_new: bool = False, status: str = "") -> dict[str, Any]:
        is_payout = transaction.kind is PaymentKind.DISBURSEMENT
        outcome = None if is_new else transaction.outcome
        if not status:
            pending = "AUTHORIZED" if is_payout else "PROCESSING"
            status = pending if outcome is None else rules.STATUS_OF.get(outcome, "FAILED")
        made = {
            "id": transaction.network_id,
            "status": status,
            "orderReference": transaction.reference,
            "createdAt": show_time(transaction.taken_at),
            "clientId": self._keys["clientId"],
        }
        if is_payout:
            return made | rules.payout_parts(transaction.channel, transaction.phone, transaction.amount)
        return made | rules.payment_parts(transaction, is_new=is_new)

    def opening(self, transaction: Transaction) -> Notice:
        status = self._network.control.of(ClickpesaSwitches).initiated_status
        return self._worded("PAYOUT INITIATED", self._described(transaction, status=status))

    def notice(self, transaction: Transaction) -> Notice | None:
        is_success = transaction.outcome is Outcome.SUCCESS
        if transaction.kind is PaymentKind.COLLECTION:
            # There is no event for a payment that is taken back: only its status says so.
            return self._worded("PAYMENT RECEIVED" if is_success else "PAYMENT FAILED", self._described(transaction))
        if is_success:
            return None  # Nor is there one for a completed payout: only the query knows.
        status = "REVERSED" if transaction.outcome is Outcome.REVERSED else "REFUNDED"
        return self._worded(f"PAYOUT {status}", self._described(transaction, status=status))

    def _worded(self, event: str, data: dict[str, Any]) -> Notice:
        body: dict[str, Any] = {"event": event, "data": data}
        form = self._network.control.of(ClickpesaSwitches).checksum
        if form != "off":
            body["checksum"] = self._checksum(body, form)
        return Notice(encode(body), JSON, lambda reply: "")


def _error(status: int, message: str) -> Reply:
    return json_reply(status, {"message": message})
