"""Tigo Pesa's interfaces on paper: their addresses, their replies byte for byte, their tables. Written by hand from their documentation."""

import json
from typing import Any

from malipo.networks.connector import PaymentInstruction, Type
from tests.networks.scripted_server import Reply, http
from tests.networks.verdict_words import FAIL_CFG, FLOAT_SHORT, LIMIT, RECIPIENT, SUCCESS, UNKNOWN, Outcome

USERNAME = "malipo_user"
PASSWORD = "p@ss&w0rd=+%/?"
PIN = "80917263"
TOKEN = "Tg8Kq1Xn4Wv7Yb0Lc3Md6Pf9Rg2Sh5Tj"
NEXT_TOKEN = "Tn2Bf5Cg8Dh1Ej4Fk7Gl0Hm3In6Jo9Kp"
RECEIPT = "7501236540"
BILLER = "255710000009"
ACCOUNT = "255710000008"
CODE = "MLP"

GET_TOKEN = "POST /MALIPO2DM-GetToken"
PUSH = "POST /MALIPO2DM-PushBillpay"
QUERY = "POST /MALIPO2DM-TQS"
CASH_IN = "POST /MALIPO2DM-MFICashIn"

COLLECTION = PaymentInstruction(
    key="0K3ABCDEFGHJ1234", type=Type.COLLECTION, phone="+255652000001", amount=1500, note="Order 12, thanks!"
)
DISBURSEMENT = PaymentInstruction(
    key="0K3ABCDEFGHJ5678", type=Type.DISBURSEMENT, phone="+255712345678", amount=250000, note="Wages: week 7 (Juma)"
)
ORDERS = {Type.COLLECTION: COLLECTION, Type.DISBURSEMENT: DISBURSEMENT}


def settings(port: int) -> dict[str, Any]:
    return {
        "tigo_pesa_token_url": f"http://127.0.0.1:{port}/MALIPO2DM-GetToken",
        "tigo_pesa_push_url": f"http://127.0.0.1:{port}/MALIPO2DM-PushBillpay",
        "tigo_pesa_query_url": f"http://127.0.0.1:{port}/MALIPO2DM-TQS",
        "tigo_pesa_disbursement_url": f"http://127.0.0.1:{port}/MALIPO2DM-MFICashIn",
        "tigo_pesa_username": USERNAME,
        "tigo_pesa_password": PASSWORD,
        "tigo_pesa_biller_msisdn": BILLER,
        "tigo_pesa_biller_code": CODE,
        "tigo_pesa_account_msisdn": ACCOUNT,
        "tigo_pesa_pin": PIN,
        "tigo_pesa_timeout_seconds": 10,
    }


CALLED_BACK: dict[str, object] = {
    "Status": True,
    "Description": "Transaction successful",
    "MFSTransactionID": RECEIPT,
    "ReferenceID": "MLP0K3ABCDEFGHJ1234",
    "Amount": "1500",
}
TOKEN_GIVEN = http(
    "200 OK", '{"access_token":"Tg8Kq1Xn4Wv7Yb0Lc3Md6Pf9Rg2Sh5Tj","token_type":"bearer","expires_in":86399}'
)
NEXT_TOKEN_GIVEN = http(
    "200 OK", '{"access_token":"Tn2Bf5Cg8Dh1Ej4Fk7Gl0Hm3In6Jo9Kp","token_type":"bearer","expires_in":86399}'
)
TOKEN_ENDED = http("401 Unauthorized", '{"Message":"Authorization has been denied for this request."}')

PUSHED = http(
    "200 OK",
    '{"ResponseCode":"BILLER-18-0000-S","ResponseStatus":true,"ResponseDescription":"Request sent to user",'
    '"ReferenceID":"MLP0K3ABCDEFGHJ1234"}',
)


def push_reply(code: object, *, status: object = False, http_status: int = 200, **more: object) -> Reply:
    said = {
        "ResponseCode": code,
        "ResponseStatus": status,
        "ResponseDescription": "Words for people",
        "ReferenceID": "MLP0K3ABCDEFGHJ1234",
    } | more
    return http(f"{http_status} Whatever", json.dumps(said))


def command(status: str = "200 OK", **elements: str) -> Reply:
    """A COMMAND with these elements, in this order."""
    inside = "".join(f"<{name}>{text}</{name}>" for name, text in elements.items())
    return http(status, f'<?xml version="1.0"?><COMMAND>{inside}</COMMAND>', media_type="text/xml")


PAID_OUT = http(
    "200 OK",
    '<?xml version="1.0"?><COMMAND><TYPE>RESMFICI</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
    "<TXNID>7501236540</TXNID><TXNSTATUS>0</TXNSTATUS><MESSAGE>You have sent TZS 250,000</MESSAGE></COMMAND>",
    media_type="text/xml",
)


def cash_in_reply(txn_status: str, *, status: str = "200 OK", reference: str = "MLP0K3ABCDEFGHJ5678") -> Reply:
    return command(
        status, TYPE="RESMFICI", REFERENCEID=reference, TXNID="", TXNSTATUS=txn_status, MESSAGE="Words for people"
    )


POSTED = http(
    "200 OK",
    '<?xml version="1.0" encoding="UTF-8"?>\n<COMMAND>\n <TYPE>MTPGGetSODetailsResp</TYPE>\n'
    " <RESULTCODE>0</RESULTCODE>\n <RESULTDESC>Success</RESULTDESC>\n <TXNID>7501236540</TXNID>\n"
    " <TXNSTATUS>Posted</TXNSTATUS>\n <EXTERNALREFID>MLP0K3ABCDEFGHJ1234</EXTERNALREFID>\n <REVERSALREQID/>\n"
    " <BRANDID>1</BRANDID>\n <MSISDN>255710000009</MSISDN>\n <COMPANYNAME>Malipo &amp; Sons</COMPANYNAME>\n"
    " <AMOUNT>1500</AMOUNT>\n <REF>12</REF>\n <DATETRANSACTED>2026-11-15 11:32:07</DATETRANSACTED>\n"
    " <CONTROLNO></CONTROLNO>\n</COMMAND>\n",
    media_type="text/xml",
)


def query_reply(result: str, status: str, *, http_status: str = "200 OK", **more: str) -> Reply:
    said = {
        "TYPE": "MTPGGetSODetailsResp",
        "RESULTCODE": result,
        "RESULTDESC": "Words for people",
        "TXNID": RECEIPT,
        "TXNSTATUS": status,
        "EXTERNALREFID": "MLP0K3ABCDEFGHJ1234",
    } | more
    return command(http_status, **said)


# ResponseCode of a push that was not accepted.
PUSH_CODES: list[tuple[str, Outcome]] = [
    ("DebitMandate-10-1000-E", UNKNOWN),
    ("DebitMandate-10-5000-E", UNKNOWN),
    ("DebitMandate-10-2001-E", FAIL_CFG),
    ("DebitMandate-10-2003-E", FAIL_CFG),
    ("DebitMandate-10-3000-E", FAIL_CFG),
    ("DebitMandate-10-2002-E", RECIPIENT),
    ("DebitMandate-10-2004-V", RECIPIENT),
    ("DebitMandate-10-2040-V", RECIPIENT),
    ("DebitMandate-10-2005-E", RECIPIENT),
    ("DebitMandate-10-2020-V", FAIL_CFG),
    ("DebitMandate-10-2038-V", FAIL_CFG),
    ("BILLER-18-3018-E", LIMIT),
    ("BILLER-18-3019-E", LIMIT),
    ("BILLER-18-3020-E", LIMIT),
    ("BILLER-18-3021-E", FAIL_CFG),
    ("BILLER-18-3022-E", FAIL_CFG),
    ("BILLER-18-3040-E", FAIL_CFG),
    ("DuplicateRefID", UNKNOWN),
    ("BILLER-18-9999-E", UNKNOWN),
    ("DebitMandate-10-9999-E", UNKNOWN),
    ("", UNKNOWN),
]

# TXNSTATUS of a cash-in, each in the forms in which it was seen or may come.
CASH_IN_CODES: list[tuple[str, Outcome]] = [
    ("0", SUCCESS),
    ("00", SUCCESS),
    ("00000", SUCCESS),
    ("200", SUCCESS),
    ("00200", SUCCESS),
    ("00026", FAIL_CFG),
    ("26", FAIL_CFG),
    ("00031", LIMIT),
    ("31", LIMIT),
    ("410", LIMIT),
    ("00410", LIMIT),
    ("60018", LIMIT),
    ("00042", LIMIT),
    ("42", LIMIT),
    ("317", RECIPIENT),
    ("00317", RECIPIENT),
    ("2117", FAIL_CFG),
    ("02117", FAIL_CFG),
    ("60014", LIMIT),
    ("60024", LIMIT),
    ("60017", LIMIT),
    ("60019", FLOAT_SHORT),
    ("060019", FLOAT_SHORT),
    ("60021", LIMIT),
    ("60028", LIMIT),
    ("60030", LIMIT),
    ("60074", RECIPIENT),
    ("100", UNKNOWN),
    ("00100", UNKNOWN),
    ("", UNKNOWN),
    (" ", UNKNOWN),
    ("1", UNKNOWN),
    ("2", UNKNOWN),
    ("20", UNKNOWN),
    ("2000", UNKNOWN),
    ("260", UNKNOWN),
    ("99999", UNKNOWN),
    ("-0", UNKNOWN),
    ("+0", UNKNOWN),
    ("0.0", UNKNOWN),
    ("0x0", UNKNOWN),
    ("O", UNKNOWN),
    ("\u0660", UNKNOWN),
    ("SUCCESS", UNKNOWN),
    ("200 0", UNKNOWN),
]
