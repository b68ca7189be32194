"""AzamPay's interface on paper: its addresses, its replies byte for byte, its words. Written by hand from public material."""

import json
from typing import Any

from msgspec.structs import replace

from malipo.networks.connector import Channel, PaymentInstruction, Type, Verdict
from tests.networks.rsa_keys import AIRTEL_MONEY_LONG, AIRTEL_MONEY_LONG_PUBLIC_KEY
from tests.networks.scripted_server import Reply, http

APP_NAME = "Duka la Asha"
CLIENT_ID = "7f0c2a91-52b1-4b6e-9d0e-0f4f0a9c1e55"
CLIENT_SECRET = "RmFrZS1zZWNyZXQtb2YtYS10ZXN0"
PRIVATE_KEY, PUBLIC_KEY = AIRTEL_MONEY_LONG, AIRTEL_MONEY_LONG_PUBLIC_KEY
TOKEN = "eyJhbGciOiJkaXIifQ.first.Qp2"
NEXT_TOKEN = "eyJhbGciOiJkaXIifQ.second.Rt7"
NETWORK_ID = "019dcfc8dbe170ed92cef555a4cf6f14"
RECEIPT = "M00022584"

GET_TOKEN = "POST /auth/AppRegistration/GenerateToken"
PAY_OUT = "POST /api/v1/azampay/disburse"
ASK = "GET /api/v1/azampay/transactionstatus"
LOOK_UP = "POST /api/v1/azampay/namelookup"

DISBURSEMENT = PaymentInstruction(
    key="0K3ABCDEFGHJ5678",
    type=Type.DISBURSEMENT,
    phone="+255622345678",
    amount=250000,
    note="Wages: week 7 (Juma)",
    name="Juma Nyerere-Mwinyi",
    channel=Channel.HALOPESA,
)
# The same, when its acceptance was heard.
ACCEPTED_ORDER = replace(DISBURSEMENT, network_id=NETWORK_ID)


def settings(port: int) -> dict[str, Any]:
    return {
        "azampay_base_url": f"http://127.0.0.1:{port}",
        "azampay_authenticator_url": f"http://127.0.0.1:{port}/auth",
        "azampay_app_name": APP_NAME,
        "azampay_client_id": CLIENT_ID,
        "azampay_client_secret": CLIENT_SECRET,
        "azampay_public_key": PUBLIC_KEY,
        "azampay_source_account": "1000000164",
        "azampay_source_name": "Duka la Asha Ltd",
        "azampay_timeout_seconds": 10,
    }


def token_given(token: str, expire: object = "2099-04-27T22:00:00Z") -> Reply:
    data = {"accessToken": token, "expire": expire, "validFrom": "2026-04-27T16:00:00Z"}
    said = {"data": data, "success": True, "statusCode": 200, "message": "Token generated successfully"}
    return http("200 OK", json.dumps(said))


TOKEN_GIVEN, NEXT_TOKEN_GIVEN = token_given(TOKEN), token_given(NEXT_TOKEN)
TOKEN_ENDED = http("401 Unauthorized", '{"status":"Error","message":"Please Provide Valid Authorization"}')
NOT_LET_IN = http(
    "423 Locked",
    '{"data":null,"message":"Provided detail is not valid for this app or secret key has been expired",'
    '"success":false,"statusCode":423}',
)

ACCEPTED = http(
    "200 OK",
    '{"success":true,"pgReferenceId":"019dcfc8dbe170ed92cef555a4cf6f14","message":"Your transaction is in process",'
    '"statusCode":200,"status":"Pending"}',
)
PAID_OUT = http(
    "200 OK",
    '{"transId":"4b8ef697e0d3e02b4ef89359670feb59","statusCode":200,"success":true,"message":null,'
    '"fspReferenceId":"M00022584","initiatorReferenceId":"0K3ABCDEFGHJ5678",'
    '"pgReferenceId":"019dcfc8dbe170ed92cef555a4cf6f14","amount":"250000","status":"success",'
    '"additionalProperties":{},"operator":"Halotel","signature":null}',
)
CALLED_BACK = (
    '{"initiatorReferenceId":"0K3ABCDEFGHJ5678","fspReferenceId":"M00022584",'
    '"pgReferenceId":"019dcfc8dbe170ed92cef555a4cf6f14","amount":"250000","status":"success",'
    '"message":"Transaction completed","operator":"Halotel","additionalProperties":{}}'
)
CALLED_BACK_AS_COLLECTION = (
    '{"message":"Disbursement of TZS 250000 to 255622345678 completed successfully. Ref: M00022584",'
    '"transactionstatus":"success","operator":"Halotel","reference":"019dcfc8dbe170ed92cef555a4cf6f14",'
    '"externalreference":"019dcfc8dbe170ed92cef555a4cf6f14","utilityref":"0K3ABCDEFGHJ5678","amount":"250000",'
    '"transid":"019dcfc8dbe170ed92cef555a4cf6f14","msisdn":null,"mnoreference":"M00022584","submerchantAcc":null,'
    '"additionalProperties":{},"signature":"yiLdNw/TOV5rOa3UCVIDr"}'
)


def query_reply(*, http_status: int = 200, **changes: object) -> Reply:
    """What a query says of the payout; without anything that could be compared with the order but its names."""
    said = {"statusCode": 200, "success": True, "message": "Words for people", "pgReferenceId": NETWORK_ID}
    said |= {"initiatorReferenceId": DISBURSEMENT.key} | changes
    return http(f"{http_status} Whatever", json.dumps(said))


def refused(status: int, message: object, **changes: object) -> Reply:
    """The envelope of every refusal. Its status is that of the request."""
    said = {"success": False, "pgReferenceId": None, "message": message, "statusCode": status, "status": "Failure"}
    return http(f"{status} Whatever", json.dumps(said | changes))


STATUSES: list[tuple[str, Verdict]] = [
    ("success", Verdict.CONFIRMED),
    ("SUCCESS", Verdict.CONFIRMED),
    ("failure", Verdict.REFUSED),
    ("Failure", Verdict.REFUSED),
    ("pending", Verdict.WAITING),
    ("failed", Verdict.UNKNOWN),
    ("successful", Verdict.UNKNOWN),
    ("processing", Verdict.UNKNOWN),
    ("", Verdict.UNKNOWN),
]
