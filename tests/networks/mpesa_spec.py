"""M-Pesa's OpenAPI on paper: its addresses, its replies byte for byte, its tables.

Written by hand from its documentation, and from nothing that malipo says of it.
"""

import json
from typing import Any

from malipo.networks.connector import PaymentInstruction, Type
from tests.networks import rsa_keys
from tests.networks.scripted_server import Reply, http
from tests.networks.verdict_words import (
    AMBIGUOUS,
    DECLINED,
    EXPIRED,
    FAIL_CFG,
    FLOAT_SHORT,
    INSUFFICIENT,
    LIMIT,
    NOT_INDEXED,
    OUR_LIMIT,
    PENDING,
    RECIPIENT,
    REJECTED,
    SUCCESS,
    UNKNOWN,
    Outcome,
)

API_KEY = "xS5hQ8pWzKd3TnV7bYcR2mLfJ9gAeU4u"
SESSION_ID = "q7Hd0Zk2Wn5Vt8Xs1Lp4Rb6Yc9Mf3Jg0"
NEXT_SESSION_ID = "b2Tz9Kx4Qm7Rw1Ns6Fv3Hc8Pd5Lj0GyA"
RECEIPT = "0YZ1XQ7BC4DE"

PREFIX = "/sandbox/ipg/v2/vodacomTZN/"
SESSION = f"GET {PREFIX}getSession/"
COLLECT = f"POST {PREFIX}c2bPayment/singleStage/"
DISBURSE = f"POST {PREFIX}b2cPayment/"
QUERY = f"GET {PREFIX}queryTransactionStatus/"
PAY = {Type.COLLECTION: COLLECT, Type.DISBURSEMENT: DISBURSE}

COLLECTION = PaymentInstruction(
    key="0K3ABCDEFGHJ1234", type=Type.COLLECTION, phone="+255754000001", amount=1500, note="Order 12, thanks!"
)
DISBURSEMENT = PaymentInstruction(
    key="0K3ABCDEFGHJ5678", type=Type.DISBURSEMENT, phone="+255765432109", amount=250000, note="Wages: week 7 (Juma)"
)
ORDERS = {Type.COLLECTION: COLLECTION, Type.DISBURSEMENT: DISBURSEMENT}


def settings(port: int) -> dict[str, Any]:
    return {
        "mpesa_base_url": f"http://127.0.0.1:{port}/sandbox/ipg/v2/vodacomTZN",
        "mpesa_api_key": API_KEY,
        "mpesa_public_key": rsa_keys.MPESA_PUBLIC_KEY,
        "mpesa_service_provider_code": "000000",
        "mpesa_origin": "pay.example.co.tz",
        "mpesa_timeout_seconds": 10,
    }


CALLED_BACK = (
    b'{"input_OriginalConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123","input_TransactionID":"0YZ1XQ7BC4DE",'
    b'"input_ResultCode":"INS-0","input_ResultDesc":"Request processed successfully",'
    b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}'
)

SESSION_GIVEN = http(
    "200 OK",
    '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
    '"output_SessionID":"q7Hd0Zk2Wn5Vt8Xs1Lp4Rb6Yc9Mf3Jg0"}',
)
NEXT_SESSION_GIVEN = http(
    "200 OK",
    '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
    '"output_SessionID":"b2Tz9Kx4Qm7Rw1Ns6Fv3Hc8Pd5Lj0GyA"}',
)
SESSION_ENDED = http("401 Unauthorized", '{"output_error":"Session has expired"}')

PAID = http(
    "201 Created",
    '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
    '"output_TransactionID":"0YZ1XQ7BC4DE","output_ConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123",'
    '"output_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}',
)
PAID_OUT = http(
    "201 Created",
    '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
    '"output_TransactionID":"0YZ1XQ7BC4DE","output_ConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123",'
    '"output_ThirdPartyConversationID":"0K3ABCDEFGHJ5678"}',
)
PAID_REPLIES = {Type.COLLECTION: PAID, Type.DISBURSEMENT: PAID_OUT}
ACCEPTED = http(
    "201 Created",
    '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
    '"output_ConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123","output_ThirdPartyConversationID":"0K3ABCDEFGHJ1234"}',
)
COMPLETED = http(
    "200 OK",
    '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully",'
    '"output_ResponseTransactionStatus":"Completed","output_ConversationID":"9c3de1f0a2b44d6f8e7a5b4c3d2e1f00",'
    '"output_ThirdPartyConversationID":"0123456789abcdef0123456789abcdef",'
    '"output_OriginalTransactionID":"0YZ1XQ7BC4DE","output_Reversed":"False"}',
)


def coded(status: int, code: str, *, key: str) -> Reply:
    """A reply to a payment that has only a code to tell."""
    return http(
        f"{status} Whatever",
        f'{{"output_ResponseCode":"{code}","output_ResponseDesc":"Words for people","output_TransactionID":"N/A",'
        f'"output_ConversationID":"4f1b5c0d9e8a47f3b2a1c6d7e8f90123","output_ThirdPartyConversationID":"{key}"}}',
    )


def query_reply(word: object, **more: object) -> Reply:
    """A reply to a query that was understood, with the outcome in this word."""
    said = {
        "output_ResponseCode": "INS-0",
        "output_ResponseDesc": "Request processed successfully",
        "output_ResponseTransactionStatus": word,
        "output_ConversationID": "9c3de1f0a2b44d6f8e7a5b4c3d2e1f00",
        "output_ThirdPartyConversationID": "0123456789abcdef0123456789abcdef",
    }
    return http("200 OK", json.dumps(said | more))


# Code, the HTTP status it is documented with, and what it says when a collection or a disbursement is answered so.
CODES: list[tuple[str, int, Outcome, Outcome]] = [
    ("INS-1", 400, UNKNOWN, UNKNOWN),
    ("INS-2", 401, FAIL_CFG, FAIL_CFG),
    ("INS-4", 401, RECIPIENT, RECIPIENT),
    ("INS-5", 401, DECLINED, DECLINED),
    ("INS-6", 401, DECLINED, DECLINED),
    ("INS-9", 408, UNKNOWN, UNKNOWN),
    ("INS-10", 409, UNKNOWN, UNKNOWN),
    ("INS-13", 400, FAIL_CFG, FAIL_CFG),
    ("INS-14", 400, FAIL_CFG, FAIL_CFG),
    ("INS-15", 400, LIMIT, LIMIT),
    ("INS-16", 503, UNKNOWN, UNKNOWN),
    ("INS-17", 400, FAIL_CFG, FAIL_CFG),
    ("INS-18", 400, FAIL_CFG, FAIL_CFG),
    ("INS-19", 400, FAIL_CFG, FAIL_CFG),
    ("INS-20", 400, FAIL_CFG, FAIL_CFG),
    ("INS-21", 400, FAIL_CFG, FAIL_CFG),
    ("INS-22", 400, FAIL_CFG, FAIL_CFG),
    ("INS-23", 400, UNKNOWN, UNKNOWN),
    ("INS-24", 400, FAIL_CFG, FAIL_CFG),
    ("INS-25", 400, FAIL_CFG, FAIL_CFG),
    ("INS-26", 400, FAIL_CFG, FAIL_CFG),
    ("INS-28", 400, FAIL_CFG, FAIL_CFG),
    ("INS-30", 400, FAIL_CFG, FAIL_CFG),
    ("INS-31", 400, FAIL_CFG, FAIL_CFG),
    ("INS-35", 400, REJECTED, REJECTED),
    ("INS-32", 400, UNKNOWN, UNKNOWN),
    ("INS-36", 400, UNKNOWN, UNKNOWN),
    ("INS-39", 400, UNKNOWN, UNKNOWN),
    ("INS-40", 400, UNKNOWN, UNKNOWN),
    ("INS-41", 400, UNKNOWN, UNKNOWN),
    ("INS-42", 400, UNKNOWN, UNKNOWN),
    ("INS-43", 400, UNKNOWN, UNKNOWN),
    ("INS-50", 400, UNKNOWN, UNKNOWN),
    ("INS-51", 400, UNKNOWN, UNKNOWN),
    ("INS-58", 400, UNKNOWN, UNKNOWN),
    ("INS-989", 400, UNKNOWN, UNKNOWN),  # a configuration fault only if no payment was sent, and here one was
    ("INS-990", 400, LIMIT, LIMIT),
    ("INS-991", 400, LIMIT, LIMIT),
    ("INS-992", 400, LIMIT, LIMIT),
    ("INS-993", 400, OUR_LIMIT, OUR_LIMIT),
    ("INS-994", 400, OUR_LIMIT, OUR_LIMIT),
    ("INS-995", 400, LIMIT, LIMIT),
    ("INS-996", 400, AMBIGUOUS, AMBIGUOUS),
    ("INS-997", 400, FAIL_CFG, FAIL_CFG),
    ("INS-998", 400, FAIL_CFG, FAIL_CFG),
    ("INS-2001", 401, AMBIGUOUS, AMBIGUOUS),
    ("INS-2002", 401, RECIPIENT, RECIPIENT),
    ("INS-2006", 422, INSUFFICIENT, FLOAT_SHORT),
    ("INS-2051", 400, RECIPIENT, RECIPIENT),
    ("INS-2057", 400, FAIL_CFG, FAIL_CFG),
    ("INS-6140", 400, UNKNOWN, UNKNOWN),
    ("INS-3", 400, UNKNOWN, UNKNOWN),
    ("INS-77777", 400, UNKNOWN, UNKNOWN),
    ("ins-0", 201, UNKNOWN, UNKNOWN),
    ("INS-00", 201, UNKNOWN, UNKNOWN),
    ("0", 201, UNKNOWN, UNKNOWN),
    ("", 400, UNKNOWN, UNKNOWN),
    ("N/A", 400, UNKNOWN, UNKNOWN),
]

# What a query that was understood says of the payment.
STATUS_WORDS: list[tuple[object, dict[str, object], Outcome]] = [
    ("Completed", {}, SUCCESS),
    ("Completed", {"output_Reversed": "False"}, SUCCESS),
    ("Completed", {"output_Reversed": "N/A"}, SUCCESS),
    ("COMPLETED", {"output_Reversed": "false"}, SUCCESS),
    ("completed", {}, SUCCESS),
    ("Completed", {"output_Reversed": "True"}, REJECTED),
    ("completed", {"output_Reversed": "true"}, REJECTED),
    ("Completed", {"output_Reversed": "TRUE"}, REJECTED),
    ("Completed", {"output_Reversed": True}, REJECTED),
    ("Completed", {"output_Reversed": False}, SUCCESS),
    ("Failed", {}, REJECTED),
    ("FAILED", {}, REJECTED),
    ("Cancelled", {}, DECLINED),
    ("Expired", {}, EXPIRED),
    ("Declined", {}, DECLINED),
    ("Rejected", {}, REJECTED),
    ("rejected", {}, REJECTED),
    ("Reversed", {}, REJECTED),
    ("Pending", {}, PENDING),
    ("N/A", {}, UNKNOWN),
    ("", {}, UNKNOWN),
    ("Timeout", {}, UNKNOWN),
    ("Not Completed", {}, UNKNOWN),
    ("Incomplete", {}, UNKNOWN),
    ("Success", {}, UNKNOWN),  # the three that only an integration of Lesotho has seen
    ("Successful", {}, UNKNOWN),
    ("TransactionComplete", {}, UNKNOWN),
    ("Authorised", {}, UNKNOWN),
    (None, {}, UNKNOWN),
    (0, {}, UNKNOWN),
    (True, {}, UNKNOWN),
    (["Completed"], {}, UNKNOWN),
    ({"Completed": "Completed"}, {}, UNKNOWN),
]

# A query answered by anything but INS-0 says nothing of the payment, except that it is not known, or not yet.
QUERY_CODES: list[tuple[str, int, Outcome]] = [
    ("INS-23", 400, NOT_INDEXED),
    ("INS-6140", 400, NOT_INDEXED),
    *((code, status, UNKNOWN) for code, status, _, _ in CODES if code not in ("INS-23", "INS-6140")),
]
