"""ClickPesa's interface on paper: its addresses, its replies byte for byte, its words. Written by hand from its documentation."""

import json
from typing import Any

from malipo.networks.connector import PaymentInstruction, Type, Verdict
from tests.networks.scripted_server import Reply, http

CLIENT_ID = "IDk4f8r2w9t1"
API_KEY = "SKq7Wz1Xn4Vb8Yc0Md"
CHECKSUM_KEY = "CHKclickpesa7f3a"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.first.Zx9"
NEXT_TOKEN = "eyJhbGciOiJIUzI1NiJ9.second.Yw8"
RECEIPT = "HP2611150001"

GET_TOKEN = "POST /third-parties/generate-token"
PUSH = "POST /third-parties/payments/initiate-ussd-push-request"
PAY_OUT = "POST /third-parties/payouts/create-mobile-money-payout"
PAY = {Type.COLLECTION: PUSH, Type.DISBURSEMENT: PAY_OUT}
ASK = {
    Type.COLLECTION: "GET /third-parties/payments/0K3ABCDEFGHJ1234",
    Type.DISBURSEMENT: "GET /third-parties/payouts/0K3ABCDEFGHJ5678",
}

COLLECTION = PaymentInstruction(
    key="0K3ABCDEFGHJ1234", type=Type.COLLECTION, phone="+255621000001", amount=1500, note="Order 12, thanks!"
)
DISBURSEMENT = PaymentInstruction(
    key="0K3ABCDEFGHJ5678", type=Type.DISBURSEMENT, phone="+255692345678", amount=250000, note="Wages: week 7 (Juma)"
)
ORDERS = {Type.COLLECTION: COLLECTION, Type.DISBURSEMENT: DISBURSEMENT}


def settings(port: int) -> dict[str, Any]:
    return {
        "clickpesa_base_url": f"http://127.0.0.1:{port}/third-parties",
        "clickpesa_client_id": CLIENT_ID,
        "clickpesa_api_key": API_KEY,
        "clickpesa_timeout_seconds": 10,
    }


TOKEN_GIVEN = http("200 OK", '{"success":true,"token":"Bearer eyJhbGciOiJIUzI1NiJ9.first.Zx9"}')
NEXT_TOKEN_GIVEN = http("200 OK", '{"success":true,"token":"Bearer eyJhbGciOiJIUzI1NiJ9.second.Yw8"}')
TOKEN_ENDED = http("401 Unauthorized", '{"message":"Unauthorized"}')

STARTED = http(
    "200 OK",
    '{"id":"LCP27DE15","status":"PROCESSING","channel":"HALOPESA","orderReference":"0K3ABCDEFGHJ1234",'
    '"collectedAmount":"1500","collectedCurrency":"TZS","createdAt":"2026-11-15T08:32:07.000Z","clientId":"IDk4f8r2w9t1"}',
)
AUTHORIZED = http(
    "200 OK",
    '{"id":"PO81FE2","orderReference":"0K3ABCDEFGHJ5678","amount":251500,"currency":"TZS","fee":1500,'
    '"status":"AUTHORIZED","channel":"MOBILE MONEY","channelProvider":"HALOPESA",'
    '"order":{"amount":250000,"currency":"TZS"},"beneficiary":{"accountNumber":"255692345678","accountName":"JUMA",'
    '"amount":250000},"createdAt":"2026-11-15T08:32:07.000Z"}',
)
REPLIES = {Type.COLLECTION: STARTED, Type.DISBURSEMENT: AUTHORIZED}
COLLECTED = http(
    "200 OK",
    '[{"id":"LCP27DE15","status":"SUCCESS","paymentReference":"HP2611150001","paymentPhoneNumber":"255621000001",'
    '"orderReference":"0K3ABCDEFGHJ1234","collectedAmount":1500,"collectedCurrency":"TZS","message":"Paid",'
    '"channel":"HALOPESA"}]',
)
PAID_OUT = http(
    "200 OK",
    '[{"id":"PO81FE2","orderReference":"0K3ABCDEFGHJ5678","amount":"251500","currency":"TZS","fee":"1500",'
    '"status":"SUCCESS","channel":"MOBILE MONEY","channelProvider":"HALOPESA","order":{"amount":250000,"currency":"TZS"},'
    '"beneficiary":{"accountNumber":"255692345678","accountName":"JUMA","amount":"250000"}}]',
)
DONE = {Type.COLLECTION: COLLECTED, Type.DISBURSEMENT: PAID_OUT}


def body(type_: Type, **changes: object) -> dict[str, Any]:
    """What a reply says of one payment, without anything that could be compared with the order."""
    return {"id": "LCP27DE15", "message": "Words for people", "orderReference": ORDERS[type_].key} | changes


def reply(type_: Type, *, http_status: int = 200, **changes: object) -> Reply:
    return http(f"{http_status} Whatever", json.dumps(body(type_, **changes)))


def listed(*objects: object, http_status: int = 200) -> Reply:
    return http(f"{http_status} Whatever", json.dumps(objects))


STATUSES: list[tuple[str, Verdict]] = [
    ("SUCCESS", Verdict.CONFIRMED),
    ("SETTLED", Verdict.CONFIRMED),
    ("FAILED", Verdict.REFUSED),
    ("REFUNDED", Verdict.REFUSED),
    ("REVERSED", Verdict.REFUSED),
    ("PROCESSING", Verdict.WAITING),
    ("PENDING", Verdict.WAITING),
    ("AUTHORIZED", Verdict.WAITING),
    ("ON-HOLD", Verdict.WAITING),
    ("UNSUCCESSFUL", Verdict.UNKNOWN),
    ("SUCCESSFULLY FAILED", Verdict.UNKNOWN),
    ("NEW", Verdict.UNKNOWN),
    ("", Verdict.UNKNOWN),
]
