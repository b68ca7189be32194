"""Airtel Money's Open API on paper: its addresses, its replies byte for byte, its tables.

Written by hand from its documentation, and from nothing that malipo says of it.
"""

import json
from typing import Any

from malipo.networks.connector import PaymentInstruction, Type
from tests.networks import rsa_keys
from tests.networks.scripted_server import Reply, http
from tests.networks.verdict_words import (
    AMBIGUOUS,
    AMBIGUOUS_RECIPIENT,
    DECLINED,
    EXPIRED,
    FAIL_CFG,
    FLOAT_SHORT,
    INSUFFICIENT,
    LIMIT,
    MISSING,
    PENDING,
    RECIPIENT,
    REJECTED,
    SUCCESS,
    UNKNOWN,
    Outcome,
)

CLIENT_ID = "5f0c7d1e-9a2b-4c3d-8e4f-112233445566"
CLIENT_SECRET = "c0ffee00-dead-4bee-9fad-665544332211"
PIN = "4731"
TOKEN = "Zt8Kq1Xn4Wv7Yb0Lc3Md6Pf9Rg2Sh5Tj"
NEXT_TOKEN = "Ae2Bf5Cg8Dh1Ej4Fk7Gl0Hm3In6Jo9Kp"
RECEIPT = "MP210603.1234.L06941"

GET_TOKEN = "POST /auth/oauth2/token"
COLLECT = "POST /merchant/v1/payments/"
DISBURSE = "POST /standard/v1/disbursements/"
PAY = {Type.COLLECTION: COLLECT, Type.DISBURSEMENT: DISBURSE}
ASK = {
    Type.COLLECTION: "GET /standard/v1/payments/0K3ABCDEFGHJ1234",
    Type.DISBURSEMENT: "GET /standard/v1/disbursements/0K3ABCDEFGHJ5678",
}

COLLECTION = PaymentInstruction(
    key="0K3ABCDEFGHJ1234", type=Type.COLLECTION, phone="+255684000001", amount=1500, note="Order 12, thanks!"
)
DISBURSEMENT = PaymentInstruction(
    key="0K3ABCDEFGHJ5678", type=Type.DISBURSEMENT, phone="+255692345678", amount=250000, note="Wages: week 7 (Juma)"
)
ORDERS = {Type.COLLECTION: COLLECTION, Type.DISBURSEMENT: DISBURSEMENT}


def settings(port: int) -> dict[str, Any]:
    return {
        "airtel_money_base_url": f"http://127.0.0.1:{port}",
        "airtel_money_client_id": CLIENT_ID,
        "airtel_money_client_secret": CLIENT_SECRET,
        "airtel_money_pin": PIN,
        "airtel_money_public_key": rsa_keys.AIRTEL_MONEY_PUBLIC_KEY,
        "airtel_money_timeout_seconds": 10,
    }


CALLED_BACK = (
    b'{"id":"0K3ABCDEFGHJ1234","message":"Paid TZS 1,500 to Duka","status_code":"TS",'
    b'"airtel_money_id":"MP210603.1234.L06941"}'
)
TOKEN_GIVEN = http(
    "200 OK", '{"token_type":"bearer","access_token":"Zt8Kq1Xn4Wv7Yb0Lc3Md6Pf9Rg2Sh5Tj","expires_in":"180"}'
)
NEXT_TOKEN_GIVEN = http(
    "200 OK", '{"token_type":"bearer","access_token":"Ae2Bf5Cg8Dh1Ej4Fk7Gl0Hm3In6Jo9Kp","expires_in":180}'
)
TOKEN_ENDED = http("401 Unauthorized", '{"error":"invalid_token","error_description":"The access token has expired"}')

ACCEPTED = http(
    "200 OK",
    '{"data":{"transaction":{"id":"0K3ABCDEFGHJ1234","status":"SUCCESS"}},"status":{"response_code":"DP00800001006",'
    '"code":"200","success":true,"result_code":"ESB000010","message":"SUCCESS"}}',
)
ACCEPTED_WITH_A_POINT = http(
    "200 OK",
    '{"data":{"transaction":{"id":"0K3ABCDEFGHJ1234","status":"Success."}},"status":{"response_code":"DP00800001006",'
    '"code":"200","success":true,"result_code":"ESB000010","message":"Success."}}',
)
PAID_OUT = http(
    "200 OK",
    '{"data":{"transaction":{"reference_id":"18764502354","airtel_money_id":"MP210603.1234.L06941",'
    '"id":"0K3ABCDEFGHJ5678","status":"TS"}},"status":{"response_code":"DP00900001001","code":"200","success":true,'
    '"result_code":"ESB000010","message":"Transaction successful. New balance TZS 1,250,000"}}',
)
PAID_OUT_WITHOUT_STATUS = http(
    "200 OK",
    '{"data":{"transaction":{"reference_id":"18764502354","airtel_money_id":"MP210603.1234.L06941",'
    '"id":"0K3ABCDEFGHJ5678"}},"status":{"response_code":"DP00900001001","code":"200","success":true,'
    '"result_code":"ESB000010","message":"Transaction successful"}}',
)
# The portal's own sample of a success: the letters say paid, the code says in process.
COLLECTED = http(
    "200 OK",
    '{"data":{"transaction":{"airtel_money_id":"MP210603.1234.L06941","id":"0K3ABCDEFGHJ1234","message":"success",'
    '"status":"TS"}},"status":{"code":"200","message":"SUCCESS","result_code":"ESB000010",'
    '"response_code":"DP00800001006","success":true}}',
)
# And its sample of a failure, which has a receipt all the same.
NOT_COLLECTED = http(
    "200 OK",
    '{"data":{"transaction":{"airtel_money_id":"MP210603.1234.L06941","id":"0K3ABCDEFGHJ1234","message":"FAILED",'
    '"status":"TF"}},"status":{"code":"200","message":"FAILED","result_code":"ESB000010",'
    '"response_code":"DP00800001005","success":false}}',
)
REPLIES = {Type.COLLECTION: ACCEPTED, Type.DISBURSEMENT: PAID_OUT}
DONE = {
    Type.COLLECTION: COLLECTED,
    Type.DISBURSEMENT: http(
        "200 OK",
        '{"data":{"transaction":{"reference_id":"18764502354","airtel_money_id":"MP210603.1234.L06941",'
        '"id":"0K3ABCDEFGHJ5678","message":"success","status":"TS"}},"status":{"code":"200","message":"SUCCESS",'
        '"result_code":"ESB000010","response_code":"DP00900001001","success":true}}',
    ),
}


def coded(status: int, code: str, *, result_code: str = "ESB000008", success: bool = False) -> Reply:
    """An error's body: the status block, and no data."""
    said = {
        "status": {
            "response_code": code,
            "code": str(status),
            "success": success,
            "result_code": result_code,
            "message": "Words for people",
        }
    }
    return http(f"{status} Whatever", json.dumps(said))


def result_coded(status: int, result_code: str) -> Reply:
    """The older form: no response_code."""
    said = {
        "status": {"code": str(status), "success": False, "result_code": result_code, "message": "Words for people"}
    }
    return http(f"{status} Whatever", json.dumps(said))


def query_reply(
    order: PaymentInstruction, letters: object, *, code: str, success: bool, status: int = 200, **more: object
) -> Reply:
    """A transaction's own status, beside whatever the status block says."""
    said = {
        "data": {"transaction": {"id": order.key, "message": "Words for people", "status": letters} | more},
        "status": {
            "code": str(status),
            "message": "Words for people",
            "result_code": "ESB000010",
            "response_code": code,
            "success": success,
        },
    }
    return http(f"{status} Whatever", json.dumps(said))


# response_code; what it says on the payment itself; what it says on an enquiry without letters.
COLLECTION_CODES: list[tuple[str, Outcome, Outcome]] = [
    ("DP00800001000", UNKNOWN, UNKNOWN),
    ("DP00800001001", PENDING, SUCCESS),
    ("DP00800001002", DECLINED, DECLINED),
    ("DP00800001003", LIMIT, LIMIT),
    ("DP00800001004", LIMIT, LIMIT),
    ("DP00800001005", REJECTED, UNKNOWN),  # on an enquiry it may speak of the enquiry's own id
    ("DP00800001006", PENDING, PENDING),
    ("DP00800001007", INSUFFICIENT, INSUFFICIENT),
    ("DP00800001008", DECLINED, DECLINED),
    ("DP00800001009", REJECTED, REJECTED),
    ("DP00800001010", RECIPIENT, RECIPIENT),
    ("DP00800001024", UNKNOWN, UNKNOWN),
    ("DP00800001025", UNKNOWN, MISSING),
    ("DP00800001026", FAIL_CFG, UNKNOWN),  # the enquiry's signature, not the payment's
    ("DP00800001029", EXPIRED, EXPIRED),
    ("DP00800001099", UNKNOWN, UNKNOWN),
    ("", UNKNOWN, UNKNOWN),
]

DISBURSEMENT_CODES: list[tuple[str, Outcome, Outcome]] = [
    ("DP00900001000", UNKNOWN, UNKNOWN),
    ("DP00900001003", LIMIT, LIMIT),
    ("DP00900001004", LIMIT, LIMIT),
    ("DP00900001005", REJECTED, UNKNOWN),
    ("DP00900001006", PENDING, PENDING),
    ("DP00900001007", FLOAT_SHORT, FLOAT_SHORT),
    ("DP00900001009", RECIPIENT, RECIPIENT),
    ("DP00900001010", FAIL_CFG, UNKNOWN),
    ("DP00900001011", UNKNOWN, UNKNOWN),
    ("DP00900001012", RECIPIENT, RECIPIENT),
    ("DP00900001013", REJECTED, REJECTED),
    ("DP00900001014", UNKNOWN, UNKNOWN),
    ("DP00900001015", UNKNOWN, MISSING),
    ("DP00900001016", FAIL_CFG, UNKNOWN),
    ("DP00900001017", UNKNOWN, UNKNOWN),
    ("DP00900001018", AMBIGUOUS, UNKNOWN),
    ("DP00900001019", AMBIGUOUS_RECIPIENT, UNKNOWN),
    ("DP00900001099", UNKNOWN, UNKNOWN),
    ("", UNKNOWN, UNKNOWN),
]

CODES = [
    *((Type.COLLECTION, *row) for row in COLLECTION_CODES),
    *((Type.DISBURSEMENT, *row) for row in DISBURSEMENT_CODES),
]

# Router and ESB codes: on a payment, and on an enquiry.
RESULT_CODES: list[tuple[str, Outcome, Outcome]] = [
    ("ROUTER001", FAIL_CFG, UNKNOWN),
    ("ROUTER003", FAIL_CFG, UNKNOWN),
    ("ROUTER005", FAIL_CFG, UNKNOWN),
    ("ROUTER006", FAIL_CFG, UNKNOWN),
    ("ROUTER007", FAIL_CFG, UNKNOWN),
    ("ROUTER112", FAIL_CFG, UNKNOWN),
    ("ROUTER119", FAIL_CFG, UNKNOWN),
    ("ROUTER114", FAIL_CFG, UNKNOWN),
    ("ROUTER115", FAIL_CFG, UNKNOWN),
    ("ROUTER116", FAIL_CFG, UNKNOWN),
    ("ROUTER117", UNKNOWN, UNKNOWN),
    ("ESB000001", UNKNOWN, UNKNOWN),
    ("ESB000004", UNKNOWN, UNKNOWN),
    ("ESB000008", UNKNOWN, UNKNOWN),
    ("ESB000014", UNKNOWN, UNKNOWN),
    ("ESB0000900", UNKNOWN, UNKNOWN),
    ("0000900", UNKNOWN, UNKNOWN),
    ("ESB000011", REJECTED, UNKNOWN),
    ("ESB000033", RECIPIENT, UNKNOWN),
    ("ESB000036", RECIPIENT, UNKNOWN),
    ("ESB000034", FAIL_CFG, UNKNOWN),
    ("ESB000035", FAIL_CFG, UNKNOWN),
    ("ESB000039", FAIL_CFG, UNKNOWN),
    ("ESB000041", UNKNOWN, UNKNOWN),
    ("ESB000045", UNKNOWN, MISSING),
    ("ESB000099", UNKNOWN, UNKNOWN),
    ("ROUTER999", UNKNOWN, UNKNOWN),
]

# data.transaction.status on an enquiry. Whatever the code beside it, the letters decide.
LETTERS: list[tuple[object, Outcome, Outcome]] = [
    ("TS", SUCCESS, SUCCESS),
    ("TF", REJECTED, REJECTED),
    ("TE", EXPIRED, EXPIRED),
    ("TIP", PENDING, PENDING),
    ("TA", UNKNOWN, UNKNOWN),
]
