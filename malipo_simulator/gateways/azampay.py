"""The gateway of AzamPay, an aggregator: payouts to every network, by its name and not by the prefix of the number."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from malipo_simulator import randomness
from malipo_simulator.behaviour import Outcome, PaymentKind, ReplyTiming, plan_of
from malipo_simulator.credentials import Keys
from malipo_simulator.gateways import azampay_rules as rules
from malipo_simulator.gateways.gateway import HTML_500, JSON, Gateway, Notice, Reply, Request, encode, json_reply, lost
from malipo_simulator.gateways.rsa import RsaSecrets, new_private_key
from malipo_simulator.network import GatewayPayment, Network
from malipo_simulator.subscriber_names import subscriber_of
from malipo_simulator.switches import AzampaySwitches
from malipo_simulator.transaction import GatewayName, Transaction

_AUTHENTICATOR_PATH = "/authenticator/AppRegistration/GenerateToken"
_BASE_PATH = "/disbursement/api/v1/azampay"


def mint() -> Keys:
    return {
        "appName": "Demo Shop",
        "clientId": randomness.token_hex(16),
        "clientSecret": randomness.token_urlsafe(48),
        "privateKey": new_private_key(),
    }


class Azampay(Gateway):
    name = GatewayName.AZAMPAY
    root = "/azampay"

    def __init__(self, network: Network, keys: Keys) -> None:
        self._network = network
        self._keys = keys
        self._encrypted = RsaSecrets(keys["privateKey"])
        self._tokens: dict[str, float] = {}  # until when

    @property
    def _switches(self) -> AzampaySwitches:
        return self._network.control.of(AzampaySwitches)

    def credentials(self) -> dict[str, Any]:
        return {
            "disbursementPath": f"{self.root}/disbursement",
            "authenticatorPath": f"{self.root}/authenticator",
            **{name: self._keys[name] for name in ("appName", "clientId", "clientSecret")},
            "publicKey": self._encrypted.public_key,
            "sourceAccount": rules.SOURCE_ACCOUNT,
            "sourceName": "Demo Shop",
            "checksum": self._switches.checksum,
        }

    async def answer(self, request: Request) -> Reply:
        path = request.path.rstrip("/")
        if request.method == "POST" and path == _AUTHENTICATOR_PATH:
            return self._open_session(request)
        if self._tokens.get(request.header(b"authorization"), 0.0) <= self._network.now():
            return json_reply(401, {"status": "Error", "message": "Please Provide Valid Authorization"})
        match request.method, path.removeprefix(_BASE_PATH):
            case "POST", "/disburse":
                return await self._pay(request)
            case "POST", "/namelookup":
                return self._look_up(request)
            case "GET", "/transactionstatus":
                return self._show(dict(parse_qsl(request.query.decode("latin-1"))))
        return json_reply(404, {"message": "Not Found"})

    def _open_session(self, request: Request) -> Reply:
        given = _object(request.body)
        if any(given.get(name) != self._keys[name] for name in ("appName", "clientId", "clientSecret")):
            message = "Provided detail is not valid for this app or secret key has been expired"
            return json_reply(423, {"data": None, "message": message, "success": False, "statusCode": 423})
        now = self._network.now()
        self._tokens = {token: until for token, until in self._tokens.items() if now < until}
        token, until = randomness.token_urlsafe(48), now + self._switches.token_seconds
        self._tokens[f"Bearer {token}"] = until
        data = {"accessToken": token, "expire": _shown(until), "validFrom": _shown(now)}
        shown = {"data": data, "success": True, "statusCode": 200, "message": "Token generated successfully"}
        return json_reply(200, shown)

    async def _pay(self, request: Request) -> Reply:
        body, switches = _object(request.body), self._switches
        if wrong := rules.wrong_with(body):
            return _refused(400, wrong)
        channel = rules.BANKS.get(body["destination"]["bankName"])
        if channel is None or body["source"]["bankName"] != rules.SOURCE_BANK:
            return _refused(400, rules.INVALID_BANK)
        if not self._encrypted.is_digest(body.get("checksum"), rules.digest_of(body, switches.checksum)):
            return _refused(400, "Invalid Checksum")
        if abs(self._network.now() - int(body["transferDetails"]["dateInEpoch"])) > switches.skew_seconds:
            return _refused(402, "Request expired")
        phone, reference = f"+{body['destination']['accountNumber']}", body["externalReferenceId"]
        if plan_of(PaymentKind.DISBURSEMENT, phone).answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=phone)
        if self._network.is_repeat(self._network.find(self.name, reference)):
            status = int(switches.duplicate_status)
            return _refused(status, f"Detected duplicate transaction: Duplicate ExternalReferenceId: {reference}")
        return await self._take(channel, phone, body)

    async def _take(self, channel: str, phone: str, body: dict[str, Any]) -> Reply:
        ask = GatewayPayment(
            gateway=self.name,
            channel=channel,
            kind=PaymentKind.DISBURSEMENT,
            phone=phone,
            amount=body["transferDetails"]["amount"],
            reference=body["externalReferenceId"],
            network_id=randomness.token_hex(16),
            receipt=f"M{randomness.below(10**8):08}",
            note=str(body.get("remarks") or body["externalReferenceId"]),
        )
        transaction = self._network.take(ask, is_reply_final=False)
        if not await self._network.may_reply(transaction, is_final=False):
            return lost(transaction)
        # "Accepted" is never final, whatever the outcome is by now: a failure is reported later too.
        accepted = {
            "success": True,
            "pgReferenceId": transaction.network_id,
            "message": "Your transaction is in process",
            "statusCode": 200,
            "status": "Pending",
        }
        return json_reply(200, accepted, transaction)

    def _show(self, query: dict[str, str]) -> Reply:
        if refused := self._query_refusal():
            return refused
        theirs, ours = query.get("pgReferenceId"), query.get("externalReferenceId")
        if bool(theirs) == bool(ours) or (ours and not self._switches.finds_by_reference):
            return _refused(400, "pgReferenceId is required.")
        found = self._network.memory.by_network_id[self.name].get(theirs) if theirs else None
        found = self._network.find(self.name, ours) if ours else found
        if found is not None and rules.BANKS.get(query.get("bankName", "")) != found.channel:
            found = None
        transaction = self._network.look(found)
        if transaction is None:
            return _refused(404, "Transaction not found")
        shown = {
            "statusCode": 200,
            "success": True,
            "message": rules.message_of(transaction),
            "pgReferenceId": transaction.network_id,
        }
        if self._switches.names_status:
            shown |= {
                "fspReferenceId": transaction.receipt if transaction.has_moved else None,
                "initiatorReferenceId": transaction.reference,
                "amount": str(transaction.amount),
                "status": rules.status_of(transaction),
                "operator": query["bankName"],
            }
        return json_reply(200, shown, transaction)

    def _look_up(self, request: Request) -> Reply:
        if refused := self._query_refusal():
            return refused
        body = _object(request.body)
        bank, account = body.get("bankName"), body.get("accountNumber")
        if bank not in rules.BANKS or not isinstance(account, str):
            return json_reply(400, {"status": False, "message": rules.INVALID_BANK, "statusCode": 400})
        # Without one it is answered too, as on the test hosts; a wrong one is not.
        checksum = body.get("checksum")
        if checksum is not None and not self._encrypted.is_digest(checksum, rules.name_digest_of(body)):
            return json_reply(400, {"status": False, "message": "Invalid Checksum", "statusCode": 400})
        phone = f"+{account}"
        if plan_of(PaymentKind.DISBURSEMENT, phone).answering is ReplyTiming.HTML_500:
            return HTML_500._replace(phone=phone)
        subscriber = subscriber_of(phone)
        if not subscriber.is_registered:
            return json_reply(200, {"status": False, "message": "Account not found", "statusCode": 404})
        shown = {
            "name": subscriber.name or None,
            "fName": subscriber.first_name,
            "lName": subscriber.last_name,
            "message": "Success",
            "status": True,
            "statusCode": 200,
            "accountNumber": account,
            "bankName": bank,
        }
        return json_reply(200, shown)

    def _query_refusal(self) -> Reply | None:
        if self._switches.wrong_query_credentials:
            return _refused(403, "Forbidden")
        code = self._switches.query_error
        return _refused(int(code), "Error") if code else None

    def notice(self, transaction: Transaction) -> Notice | None:
        if transaction.outcome is Outcome.REVERSED:
            return None  # No source documents a callback for it.
        return Notice(encode(rules.told(transaction, self._switches.callback_form)), JSON, lambda reply: "")


def _object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _shown(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _refused(status: int, message: str) -> Reply:
    """A refusal of a payout or of a query: its status is that of the request."""
    shown = {"success": False, "pgReferenceId": None, "message": message, "statusCode": status, "status": "Failure"}
    return json_reply(status, shown)
