"""tigopesasdk 0.1.0 for Tigo Pesa. Every address is its configuration. It pushes, and takes callbacks with Flask."""

import threading
from typing import Any

import requests  # type: ignore[import-not-found, import-untyped, unused-ignore]
from flask import Flask  # type: ignore[import-not-found, unused-ignore]
from flask_restful import Api  # type: ignore[import-not-found]
from tigopesasdk import (  # type: ignore[import-not-found]
    BillPayRequest,
    CallbackHandler,
    CallbackRequest,
    CallbackResponse,
    Config,
    FlaskCallbackHandler,
    TigoClient,
)
from werkzeug.serving import make_server  # type: ignore[import-not-found, unused-ignore]

from tests.third_party_clients.drivers import wording

_heard: list[dict[str, object]] = []


class _Handler(CallbackHandler):  # type: ignore[misc]
    def respond(self, request: CallbackRequest) -> Any:
        _heard.append(vars(request))
        return CallbackResponse("BILLER-18-0000-S", True, "Callback successful", request.reference_id)


def _open(url: str, keys: Any) -> dict[str, wording.Doing]:
    config = Config(
        username=keys["username"],
        password=keys["password"],
        account_name=keys["senderName"],
        account_msisdn=keys["billerMsisdn"],
        brand_id=keys["brandId"],
        biller_code=keys["billerCode"],
        token_url=url + keys["tokenPath"],
        biller_payment_url=url + keys["pushPath"],
    )
    client = TigoClient(config, _Handler())

    def collect(phone: str, amount: int, reference: str) -> wording.Understood:
        try:
            reply = client.bill(BillPayRequest(phone, amount, "Order 99", reference))
        except requests.ConnectionError as error:
            return wording.UNKNOWN, str(error)
        if reply is None:
            return wording.NOT_LET_IN, None
        if "Duplicate" in reply.response_description:
            return wording.DUPLICATE, vars(reply)
        return wording.ACCEPTED if reply.response_status else wording.REFUSED, vars(reply)

    return {"collect": collect, "listen": _listen, "heard": _told}


def _listen() -> wording.Understood:
    """Where callbacks are taken, as the library's own resource takes them."""
    _heard.clear()
    app = Flask("opponent")
    Api(app).add_resource(FlaskCallbackHandler, "/told", resource_class_args=(_Handler(),))
    server = make_server("127.0.0.1", 0, app)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return wording.ACCEPTED, f"http://127.0.0.1:{server.port}/told"


def _told(reference: str) -> wording.Understood:
    for each in _heard:
        if each["reference_id"] == reference:
            return wording.PAID if each["status"] else wording.FAILED, each
    return wording.PENDING, None


wording.serve(_open)
