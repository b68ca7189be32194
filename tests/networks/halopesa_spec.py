"""HaloPesa's interface on paper: its address, its replies byte for byte, its table. Written by hand from three integrations that agree."""

import datetime
from typing import Any

from malipo.networks.connector import PaymentInstruction, Type
from tests.networks.scripted_server import Reply, http
from tests.networks.verdict_words import FAIL_CFG, INSUFFICIENT, PENDING, SUCCESS, UNKNOWN, Outcome

USERNAME = "malipo"
PASSWORD = "hP-9f2Kq7Wz"
SECRET_KEY = "s3cr3t-Key/Ha1o"
ACCOUNT = "80012345"
RECEIPT = "HP2611150001"

SERVICE = "POST /ServiceAPI"

COLLECTION = PaymentInstruction(
    key="0K3ABCDEFGHJ1234", type=Type.COLLECTION, phone="+255621000001", amount=1500, note="Order 12, thanks!"
)
DISBURSEMENT = PaymentInstruction(
    key="0K3ABCDEFGHJ5678", type=Type.DISBURSEMENT, phone="+255622345678", amount=250000, note="Wages"
)
# Half past eight in London, half past eleven in Dar es Salaam.
NOW = datetime.datetime(2026, 11, 15, 8, 32, 7, 999_999, tzinfo=datetime.UTC)


def settings(port: int) -> dict[str, Any]:
    return {
        "halopesa_url": f"http://127.0.0.1:{port}/ServiceAPI",
        "halopesa_username": USERNAME,
        "halopesa_password": PASSWORD,
        "halopesa_secret_key": SECRET_KEY,
        "halopesa_account": ACCOUNT,
        "halopesa_timeout_seconds": 10,
    }


ACCEPTED_BODY = (
    '<?xml version="1.0" encoding="UTF-8"?><S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>'
    '<ns2:HaloPesaServiceAPIResponse xmlns:ns2="http://ws.merchant.vmoney.viettel.com/"><return>'
    "<addition_data></addition_data><message>Accepted</message><referenceid>0K3ABCDEFGHJ1234</referenceid>"
    "<response_code>0</response_code><response_time>20261115113207</response_time><response_type>RES</response_type>"
    "</return></ns2:HaloPesaServiceAPIResponse></S:Body></S:Envelope>"
)
ACCEPTED = http("200 OK", ACCEPTED_BODY, media_type="text/xml;charset=utf-8")


def fields(code: str, **changes: str) -> str:
    said = {
        "response_code": code,
        "message": "Words for people",
        "referenceid": "0K3ABCDEFGHJ1234",
        "response_time": "20261115113209",
        "response_type": "RES",
        "addition_data": "",
    } | changes
    return "".join(f"<{name}>{text}</{name}>" for name, text in said.items())


def enveloped(inside: str, *, soap: str = "soapenv", own: str = "ws") -> str:
    return (
        f'<{soap}:Envelope xmlns:{soap}="http://schemas.xmlsoap.org/soap/envelope/"><{soap}:Header/><{soap}:Body>'
        f'<{own}:HaloPesaServiceAPIResponse xmlns:{own}="http://ws.merchant.vmoney.viettel.com/"><return>{inside}'
        f"</return></{own}:HaloPesaServiceAPIResponse></{soap}:Body></{soap}:Envelope>"
    )


def reply(code: str, *, status: str = "200 OK", **changes: str) -> Reply:
    return http(status, enveloped(fields(code, **changes)), media_type="text/xml")


# response_code; what it says in the reply; what it says in the last callback.
CODES: list[tuple[str, Outcome, Outcome]] = [
    ("0", PENDING, SUCCESS),
    ("9001", FAIL_CFG, FAIL_CFG),
    ("9002", FAIL_CFG, FAIL_CFG),
    ("9003", FAIL_CFG, FAIL_CFG),
    ("9004", UNKNOWN, UNKNOWN),
    ("9005", FAIL_CFG, FAIL_CFG),
    ("9006", FAIL_CFG, FAIL_CFG),
    ("9007", FAIL_CFG, FAIL_CFG),
    ("9008", FAIL_CFG, FAIL_CFG),
    ("9009", INSUFFICIENT, INSUFFICIENT),
    ("9010", FAIL_CFG, FAIL_CFG),
    ("9011", UNKNOWN, UNKNOWN),
    ("9012", UNKNOWN, UNKNOWN),
    ("9013", UNKNOWN, UNKNOWN),
    ("1", UNKNOWN, UNKNOWN),
    ("9999", UNKNOWN, UNKNOWN),
    ("", UNKNOWN, UNKNOWN),
    (" ", UNKNOWN, UNKNOWN),
]
