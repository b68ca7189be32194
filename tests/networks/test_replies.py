"""Replies, of every network: which payment a reply is about, and what a network in trouble says.

What its codes mean is in `test_codes.py`; what only one network has is in its own folder.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from malipo.networks.airtel_money import replies as airtel_replies
from malipo.networks.azampay import replies as azam_replies
from malipo.networks.clickpesa import replies as click_replies
from malipo.networks.connector import Answer, PaymentInstruction, Type
from malipo.networks.halopesa import replies as halo_replies
from malipo.networks.http.client import Reply as ReceivedReply
from malipo.networks.mpesa import replies as mpesa_replies
from malipo.networks.tigo_pesa import codes as tigo_codes
from malipo.networks.tigo_pesa import replies as tigo_replies
from tests.networks import airtel_money_spec as airtel
from tests.networks import azampay_spec as azam
from tests.networks import clickpesa_spec as click
from tests.networks import code_spec as sheet
from tests.networks import halopesa_spec as halo
from tests.networks import mpesa_spec as mpesa
from tests.networks import tigo_pesa_spec as tigo
from tests.networks.scripted_server import Reply, http, received
from tests.networks.verdict_words import INSUFFICIENT, LIMIT, MISSING, PENDING, SUCCESS, UNKNOWN, Outcome

IN, OUT = Type.COLLECTION, Type.DISBURSEMENT
OTHER = "0K3ABCDEFGHJ9999"


@dataclass(frozen=True)
class Place:
    """One kind of reply: how it is read; replies about another payment; about none, which then mean ours; and what
    is said at each HTTP status of trouble."""

    name: str
    read: Callable[[ReceivedReply], Answer]
    anothers: list[Reply]
    nobodys: list[tuple[Reply, Outcome]]
    said_in_trouble: Callable[[int], list[Reply]]
    trouble: tuple[int, ...] = (408, 500, 502, 503, 504, 599)

    def __repr__(self) -> str:
        return self.name


def body_of(reply: Reply) -> bytes:
    return reply.sent.partition(b"\r\n\r\n")[2]


def mpesa_payment(order: PaymentInstruction, other: PaymentInstruction, paid: Reply, others_paid: Reply) -> Place:
    echoes = ("", '"output_ThirdPartyConversationID":"N/A",', '"output_ThirdPartyConversationID":"",')
    success = f'"output_ResponseCode":"INS-0","output_TransactionID":"{mpesa.RECEIPT}"}}'
    limit = '"output_ResponseCode":"INS-15","output_TransactionID":"N/A"}'
    return Place(
        f"M-Pesa {order.type.lower()}",
        lambda reply: mpesa_replies.of_payment(reply, order),
        [others_paid, mpesa.coded(401, "INS-6", key=other.key)],
        [
            *((http("201 Created", f"{{{echo}{success}"), SUCCESS) for echo in echoes),
            *((http("400 Bad Request", f"{{{echo}{limit}"), LIMIT) for echo in echoes),
        ],
        lambda status: [
            *(mpesa.coded(status, code, key=order.key) for code, *_ in mpesa.CODES),
            http(f"{status} Trouble", body_of(paid)),
        ],
        # What it says with 408 is in the table of its codes.
        trouble=(500, 502, 503, 504, 599),
    )


# Without letters, the code says it: a prompt was sent, a payout was paid.
AIRTEL_CODES = {IN: ("DP00800001006", PENDING), OUT: ("DP00900001001", SUCCESS)}


def airtel_places(order: PaymentInstruction) -> list[Place]:
    other = PaymentInstruction(key=OTHER, type=order.type, phone=order.phone, amount=order.amount, note=order.note)
    anothers = [airtel.query_reply(other, letters, code="DP00900001001", success=True) for letters in ("TS", "TF")]

    def said_in_trouble(status: int) -> list[Reply]:
        return [
            http(f"{status} Trouble", body_of(airtel.query_reply(order, letters, code="DP00900001001", success=True)))
            for letters in ("TS", "TF")
        ]

    kind, (code, outcome) = order.type.lower(), AIRTEL_CODES[order.type]
    return [
        Place(
            f"Airtel {kind}",
            lambda reply: airtel_replies.of_payment(reply, order),
            anothers,
            [(airtel.coded(200, code, success=True), outcome)],
            said_in_trouble,
        ),
        Place(
            f"Airtel {kind} query", lambda reply: airtel_replies.of_query(reply, order), anothers, [], said_in_trouble
        ),
    ]


def click_places(order: PaymentInstruction) -> list[Place]:
    others = [
        http("200 OK", json.dumps(click.body(order.type, status=status, orderReference=OTHER)))
        for status in ("SUCCESS", "FAILED", "PROCESSING")
    ]
    listed = [
        click.listed(click.body(order.type, status=status, orderReference=OTHER), click.body(order.type, status=status))
        for status in ("SUCCESS", "FAILED", "PROCESSING")
    ]
    nobodys = [(click.reply(order.type, status="SUCCESS", orderReference=each), SUCCESS) for each in ("", None)]

    def said_in_trouble(status: int) -> list[Reply]:
        return [click.reply(order.type, status=word, http_status=status) for word in ("SUCCESS", "FAILED")]

    kind = order.type.lower()
    return [
        Place(
            f"ClickPesa {kind}",
            lambda reply: click_replies.of_payment(reply, order),
            others,
            nobodys,
            said_in_trouble,
        ),
        Place(
            f"ClickPesa {kind} query",
            lambda reply: click_replies.of_query(reply, order),
            others + listed,
            nobodys,
            said_in_trouble,
        ),
    ]


def azams_answers(status: str, changes: list[dict[str, Any]]) -> list[Reply]:
    return [azam.query_reply(status=status, **each) for each in changes]


def of_tigos_query(reply: ReceivedReply) -> Answer:
    results = tigo_codes.queries(("GetSOError010",))
    return tigo_replies.of_query(reply, f"{tigo.CODE}{tigo.COLLECTION.key}", results)


TIGO_QUERIES = [("0", "Posted"), ("0", "Declined"), ("GetSOError001", "")]
AZAM_REFUSALS = [
    message for place in ("bad request", "forbidden") for said in sheet.AZAMPAY[place].values() for message in said
]
AZAM_WORDS = ("success", "failure", "pending")
NOBODY: dict[str, Any] = {"pgReferenceId": None, "initiatorReferenceId": None}


def azams_trouble(status: int) -> list[Reply]:
    return [
        azam.query_reply(http_status=status, status="success"),
        azam.query_reply(http_status=status, status="failure"),
        *(azam.refused(status, message) for message in AZAM_REFUSALS),
    ]


PLACES = [
    mpesa_payment(mpesa.COLLECTION, mpesa.DISBURSEMENT, mpesa.PAID, mpesa.PAID_OUT),
    mpesa_payment(mpesa.DISBURSEMENT, mpesa.COLLECTION, mpesa.PAID_OUT, mpesa.PAID),
    Place(
        "M-Pesa query",
        mpesa_replies.of_query,
        [],  # Its answer names no payment of ours.
        [(mpesa.COMPLETED, SUCCESS)],
        lambda status: [
            http(f"{status} Trouble", '{"output_ResponseCode":"INS-23","output_ResponseDesc":"Unknown status"}'),
            http(f"{status} Trouble", body_of(mpesa.COMPLETED)),
        ],
    ),
    *airtel_places(airtel.COLLECTION),
    *airtel_places(airtel.DISBURSEMENT),
    Place(
        "Tigo push",
        lambda reply: tigo_replies.of_push(reply, f"{tigo.CODE}{tigo.COLLECTION.key}"),
        [
            tigo.push_reply(code, status=code.endswith("S"), ReferenceID=reference)
            for code in ("BILLER-18-0000-S", "BILLER-18-3019-E")
            for reference in (f"MLP{OTHER}", OTHER, "MLP0K3ABCDEFGHJ12345")
        ],
        [(tigo.push_reply("BILLER-18-0000-S", status=True, ReferenceID=each), PENDING) for each in ("", None)],
        lambda status: [
            *(tigo.push_reply(code, http_status=status) for code, _ in tigo.PUSH_CODES),
            tigo.push_reply("BILLER-18-0000-S", status=True, http_status=status),
        ],
    ),
    Place(
        "Tigo payout",
        lambda reply: tigo_replies.of_payout(reply, f"{tigo.CODE}{tigo.DISBURSEMENT.key}"),
        [
            tigo.cash_in_reply(code, reference=reference)
            for code in ("0", "60019", "317")
            for reference in (f"MLP{OTHER}", OTHER, "XYZ0K3ABCDEFGHJ5678")
        ],
        [
            (tigo.cash_in_reply("0", reference=""), SUCCESS),
            (tigo.command(TYPE="RESMFICI", TXNID=tigo.RECEIPT, TXNSTATUS="0"), SUCCESS),
            (tigo.cash_in_reply("317", reference=""), dict(tigo.CASH_IN_CODES)["317"]),
        ],
        lambda status: [
            tigo.cash_in_reply(code, status=f"{status} Trouble") for code in ("0", "200", "60019", "317", "100")
        ],
    ),
    Place(
        "Tigo query",
        of_tigos_query,
        [
            tigo.query_reply(code, word, EXTERNALREFID=reference)
            for code, word in TIGO_QUERIES
            for reference in (f"MLP{OTHER}", OTHER)
        ],
        [
            (tigo.query_reply("0", "Posted", EXTERNALREFID=""), SUCCESS),
            (tigo.query_reply("GetSOError010", "", EXTERNALREFID=""), MISSING),
        ],
        lambda status: [tigo.query_reply(code, word, http_status=f"{status} Trouble") for code, word in TIGO_QUERIES],
    ),
    Place(
        "HaloPesa push",
        lambda reply: halo_replies.of_push(reply, halo.COLLECTION),
        [halo.reply(code, referenceid=OTHER) for code in ("0", "9009", "9003")],
        [(halo.reply("0", referenceid=""), PENDING), (halo.reply("9009", referenceid=""), INSUFFICIENT)],
        lambda status: [halo.reply(code, status=f"{status} Trouble") for code, *_ in halo.CODES],
    ),
    *click_places(click.COLLECTION),
    *click_places(click.DISBURSEMENT),
    # Its reply to a payout has an id of theirs, and no name of ours.
    Place(
        "AzamPay payout",
        azam_replies.of_payment,
        [],
        [(azam.ACCEPTED, PENDING)],
        azams_trouble,
        (408, 429, 500, 502, 503, 504),
    ),
    Place(
        "AzamPay query by their id",
        lambda reply: azam_replies.of_query(reply, azam.ACCEPTED_ORDER),
        [
            reply
            for status in AZAM_WORDS
            for reply in azams_answers(status, [{"pgReferenceId": "019d0000"}, {"initiatorReferenceId": OTHER}, NOBODY])
        ],
        # One of both names is enough.
        [
            (azam.query_reply(status="success", initiatorReferenceId=None), SUCCESS),
            (azam.query_reply(status="success", pgReferenceId=None), SUCCESS),
        ],
        azams_trouble,
        (408, 500, 502, 503, 504),
    ),
    Place(
        "AzamPay query by our key",
        lambda reply: azam_replies.of_query(reply, azam.DISBURSEMENT),
        [
            reply
            for status in AZAM_WORDS
            # What comes back may be anybody's, unless it names ours.
            for reply in azams_answers(
                status, [{"initiatorReferenceId": OTHER}, {"initiatorReferenceId": None}, NOBODY]
            )
        ],
        [
            (azam.query_reply(status="success"), SUCCESS),
            (azam.query_reply(status="success", pgReferenceId=None), SUCCESS),
        ],
        azams_trouble,
        (408, 500, 502, 503, 504),
    ),
]
EACH = pytest.mark.parametrize("place", PLACES, ids=repr)


@EACH
def test_a_reply_that_names_another_payment_is_not_believed(place: Place) -> None:
    for reply in place.anothers:
        UNKNOWN.check(place.read(received(reply)))


@EACH
def test_a_reply_that_names_no_payment_is_about_ours(place: Place) -> None:
    for reply, outcome in place.nobodys:
        outcome.check(place.read(received(reply)))


@EACH
def test_a_network_in_trouble_says_nothing_whatever_stands_in_its_reply(place: Place) -> None:
    for status in place.trouble:
        for reply in place.said_in_trouble(status):
            answer = place.read(received(reply))
            UNKNOWN.check(answer)
            assert answer.is_fault, (status, reply)
