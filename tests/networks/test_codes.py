"""Every known code, in every place where a network can report it, and a hundred unknown ones."""

import json
import random
from collections.abc import Awaitable, Callable, Iterable

import pytest

from malipo.networks.airtel_money import codes as airtel_money_codes
from malipo.networks.airtel_money import replies as airtel_money_replies
from malipo.networks.azampay import codes as azampay_codes
from malipo.networks.azampay import replies as azampay_replies
from malipo.networks.clickpesa import callbacks as clickpesa_callbacks
from malipo.networks.clickpesa import codes as clickpesa_codes
from malipo.networks.clickpesa import replies as clickpesa_replies
from malipo.networks.code_meanings import Table
from malipo.networks.connector import Answer, Callback, Connector, PaymentInstruction, Type, Verdict
from malipo.networks.halopesa import codes as halopesa_codes
from malipo.networks.http.client import HttpClient
from malipo.networks.http.client import Reply as ReceivedReply
from malipo.networks.mpesa import codes as mpesa_codes
from malipo.networks.mpesa import replies as mpesa_replies
from malipo.networks.tigo_pesa import codes as tigo_pesa_codes
from malipo.networks.tigo_pesa import replies as tigo_pesa_replies
from tests.networks import airtel_money_spec as airtel
from tests.networks import azampay_spec as azam
from tests.networks import clickpesa_spec as click
from tests.networks import code_spec as sheet
from tests.networks import halopesa_spec as halo
from tests.networks import mpesa_spec as mpesa
from tests.networks import tigo_pesa_spec as tigo
from tests.networks.payment_calls import (
    connect_airtel,
    connect_azampay,
    connect_clickpesa,
    connect_halopesa,
    connect_mpesa,
    connect_tigo,
)
from tests.networks.scripted_server import Reply, ScriptedServer, http, received
from tests.networks.verdict_words import UNKNOWN, Outcome

# A code, said in one place; None where it could not be read at all.
Say = Callable[[Connector, ScriptedServer, str], Awaitable[Answer | None]]


def read_by(of: Callable[[ReceivedReply], Answer], made: Callable[[str], Reply]) -> Say:
    """Where replies are read by a pure function. That each is called with its own replies is held on the wire."""

    async def say(connector: Connector, server: ScriptedServer, code: str) -> Answer:
        return of(received(made(code)))

    return say


def on_the_wire(line: str, order: PaymentInstruction, made: Callable[[str], Reply]) -> Say:
    async def say(connector: Connector, server: ScriptedServer, code: str) -> Answer:
        server.expect(line, made(code))
        return await connector.send(order)

    return say


def in_callback(made: Callable[[str], str]) -> Say:
    async def say(connector: Connector, server: ScriptedServer, code: str) -> Answer | None:
        report = connector.read(Callback({}, made(code).encode()))
        return None if report is None else report.answer

    return say


IN, OUT = Type.COLLECTION, Type.DISBURSEMENT


def of_mpesa(order: PaymentInstruction) -> Callable[[ReceivedReply], Answer]:
    return lambda reply: mpesa_replies.of_payment(reply, order)


def of_airtel(order: PaymentInstruction) -> Callable[[ReceivedReply], Answer]:
    return lambda reply: airtel_money_replies.of_payment(reply, order)


def of_airtels_enquiry(order: PaymentInstruction) -> Callable[[ReceivedReply], Answer]:
    return lambda reply: airtel_money_replies.of_query(reply, order)


def of_tigos_query(reply: ReceivedReply) -> Answer:
    return tigo_pesa_replies.of_query(reply, f"{tigo.CODE}{tigo.COLLECTION.key}", tigo_pesa_codes.queries(()))


def of_click(order: PaymentInstruction) -> Callable[[ReceivedReply], Answer]:
    return lambda reply: clickpesa_replies.of_payment(reply, order)


def of_clicks_query(order: PaymentInstruction) -> Callable[[ReceivedReply], Answer]:
    return lambda reply: clickpesa_replies.of_query(reply, order)


MPESA: dict[str, Say] = {
    "collection": read_by(of_mpesa(mpesa.COLLECTION), lambda code: mpesa.coded(400, code, key=mpesa.COLLECTION.key)),
    "payout": read_by(of_mpesa(mpesa.DISBURSEMENT), lambda code: mpesa.coded(400, code, key=mpesa.DISBURSEMENT.key)),
    "callback": in_callback(
        lambda code: json.dumps({"input_ThirdPartyConversationID": "K1", "input_ResultCode": code})
    ),
    "query": read_by(
        mpesa_replies.of_query, lambda code: http("400 Whatever", json.dumps({"output_ResponseCode": code}))
    ),
    "word": read_by(mpesa_replies.of_query, mpesa.query_reply),
}
AIRTEL: dict[str, Say] = {
    "collection": read_by(of_airtel(airtel.COLLECTION), lambda code: airtel.coded(200, code, success=True)),
    "payout": read_by(of_airtel(airtel.DISBURSEMENT), lambda code: airtel.coded(200, code, success=True)),
    "collection's enquiry": read_by(
        of_airtels_enquiry(airtel.COLLECTION), lambda code: airtel.coded(200, code, success=True)
    ),
    "payout's enquiry": read_by(
        of_airtels_enquiry(airtel.DISBURSEMENT), lambda code: airtel.coded(200, code, success=True)
    ),
    "letters": read_by(
        of_airtels_enquiry(airtel.COLLECTION),
        lambda code: airtel.query_reply(airtel.COLLECTION, code, code="", success=True),
    ),
    "callback": in_callback(lambda code: json.dumps({"transaction": {"id": "K1", "status_code": code}})),
}
TIGO: dict[str, Say] = {
    "push": read_by(
        lambda reply: tigo_pesa_replies.of_push(reply, f"{tigo.CODE}{tigo.COLLECTION.key}"),
        lambda code: tigo.push_reply(code, status=code == "BILLER-18-0000-S"),
    ),
    "payout": read_by(
        lambda reply: tigo_pesa_replies.of_payout(reply, f"{tigo.CODE}{tigo.DISBURSEMENT.key}"), tigo.cash_in_reply
    ),
    "query": read_by(of_tigos_query, lambda code: tigo.query_reply(code, "")),
    "word": read_by(of_tigos_query, lambda code: tigo.query_reply("0", code)),
    "callback": in_callback(lambda code: json.dumps({"Status": code, "ReferenceID": "MLPK1", "Amount": 1500})),
}
HALOPESA: dict[str, Say] = {
    "push": on_the_wire(halo.SERVICE, halo.COLLECTION, halo.reply),
    "callback": in_callback(lambda code: halo.enveloped(halo.fields(code, response_type="FIN"))),
}
CLICKPESA: dict[str, Say] = {
    "collection": read_by(of_click(click.COLLECTION), lambda code: click.reply(IN, status=code)),
    "payout": read_by(of_click(click.DISBURSEMENT), lambda code: click.reply(OUT, status=code)),
    "collection's query": read_by(of_clicks_query(click.COLLECTION), lambda code: click.reply(IN, status=code)),
    "payout's query": read_by(of_clicks_query(click.DISBURSEMENT), lambda code: click.reply(OUT, status=code)),
    "event": in_callback(lambda code: json.dumps({"event": code, "data": {"orderReference": "K1"}})),
    "bad request": read_by(
        of_click(click.COLLECTION), lambda code: http("400 Bad Request", json.dumps({"message": code}))
    ),
    "not found": read_by(of_click(click.COLLECTION), lambda code: http("404 Not Found", json.dumps({"message": code}))),
}
AZAMPAY: dict[str, Say] = {
    "query": read_by(
        lambda reply: azampay_replies.of_query(reply, azam.ACCEPTED_ORDER), lambda code: azam.query_reply(status=code)
    ),
    "callback": in_callback(
        lambda code: json.dumps({"initiatorReferenceId": "K1", "status": code, "amount": "250000"})
    ),
    "callback as of a collection": in_callback(
        lambda code: json.dumps({"utilityref": "K1", "transactionstatus": code, "amount": "250000"})
    ),
    "bad request": read_by(azampay_replies.of_payment, lambda code: azam.refused(400, code)),
    "forbidden": read_by(azampay_replies.of_payment, lambda code: azam.refused(403, code)),
}

# Its sheet, its places, its tables, how its codes look, how to reach it.
NETWORKS = {
    "mpesa": (sheet.MPESA, MPESA, mpesa_codes.TABLES, "INS-{}", connect_mpesa),
    "airtel_money": (sheet.AIRTEL, AIRTEL, airtel_money_codes.TABLES, "DP009{:08}", connect_airtel),
    "tigo_pesa": (sheet.TIGO, TIGO, tigo_pesa_codes.TABLES, "{}", connect_tigo),
    "halopesa": (sheet.HALOPESA, HALOPESA, halopesa_codes.TABLES, "{}", connect_halopesa),
    "clickpesa": (
        sheet.CLICKPESA,
        CLICKPESA,
        clickpesa_codes.TABLES | {"event": clickpesa_callbacks.EVENTS},
        "PAYMENT {}",
        connect_clickpesa,
    ),
    "azampay": (sheet.AZAMPAY, AZAMPAY, azampay_codes.TABLES, "status {}", connect_azampay),
}
EACH = pytest.mark.parametrize("network", NETWORKS)
# Not what the wire says, but what we call it; each is reached by its message.
NAMES_OF_OURS = {name for table in clickpesa_codes.ERRORS.values() for name in table} | set(azampay_codes.ERRORS)


# A sentence with a few more letters says the same.
IN_SENTENCES = ("bad request", "not found", "forbidden")


def codes_of(places: Iterable[sheet.Meanings]) -> set[str]:
    return {code for meanings in places for codes in meanings.values() for code in codes}


def made_up(shape: str, known: set[str]) -> list[str]:
    """A hundred: half in the network's own form, half that are nearly one that it knows."""
    rng = random.Random(20261115)
    near = [
        f"{code}{tail}" for code in sorted(known) for tail in ("X", "-7", ".0", " 0", "/", "Y", "_1", "#", "~2", "=0")
    ]
    numbers = rng.sample(range(70_000, 90_000), 50)
    return [*map(shape.format, numbers), *rng.sample(near, 50)]


def expected(places: dict[str, sheet.Meanings], place: str, code: str) -> Outcome:
    found = [outcome for outcome, codes in places[place].items() if code in codes]
    assert len(found) <= 1, code
    return found[0] if found else UNKNOWN


def check(answer: Answer | None, outcome: Outcome, code: str) -> None:
    if answer is None:
        assert outcome is UNKNOWN, code
        return
    outcome.check(answer)
    assert answer.is_fault == outcome.is_fault, answer
    assert answer.refuses_us == outcome.refuses_us, answer


@EACH
async def test_a_code_means_what_the_sheet_says_and_in_every_other_place_nothing(
    network: str, server: ScriptedServer, http_client: HttpClient
) -> None:
    places, says, tables, _, connect = NETWORKS[network]
    connector = connect(server.port, http_client)
    # What the connector lists and the sheet does not has to mean nothing too.
    known = codes_of(places.values()) | {code for table in tables.values() for code in table} - NAMES_OF_OURS
    for place, say in says.items():
        for code in sorted(known):
            check(await say(connector, server, code), expected(places, place, code), f"{place}: {code}")


@EACH
async def test_a_code_that_nobody_knows_is_unknown_and_no_fault_and_no_refusal(
    network: str, server: ScriptedServer, http_client: HttpClient
) -> None:
    places, says, _, shape, connect = NETWORKS[network]
    connector = connect(server.port, http_client)
    strange = made_up(shape, codes_of(meanings for place, meanings in places.items() if place not in IN_SENTENCES))
    assert len(set(strange)) == 100
    for place, say in says.items():
        for code in strange:
            answer = await say(connector, server, code)
            if answer is not None:
                assert (answer.verdict, answer.failure_code) == (Verdict.UNKNOWN, None), f"{place}: {answer}"
                assert not answer.is_fault, f"{place}: {answer}"
                assert not answer.refuses_us, f"{place}: {answer}"


@EACH
def test_every_code_has_a_meaning_and_somebody_who_said_so(network: str) -> None:
    tables: dict[str, Table] = NETWORKS[network][2]
    for place, table in tables.items():
        assert table, place
        for code, meaning in table.items():
            assert meaning.says, code
            assert meaning.source, code
            assert (meaning.failure_code is not None) == (meaning.verdict is Verdict.REFUSED), code
            assert not meaning.refuses_us or meaning.verdict is Verdict.REFUSED, code
            assert not (meaning.is_fault and meaning.verdict.is_definite), code


def test_every_error_of_clickpesa_is_reached_by_a_message() -> None:
    messages = {
        400: [
            *(code for codes in sheet.CLICKPESA["bad request"].values() for code in codes),
            *("Insufficient balance", "Amount exceeds the limit", "Receiver account is not registered"),
        ],
        404: ["Account has no payment collection methods", "Not found"],
        409: ["Order reference exists"],
    }
    named = {clickpesa_codes.error_of(status, each) for status, all_ in messages.items() for each in all_}
    assert named == NAMES_OF_OURS - set(azampay_codes.ERRORS) | {"400", "404"}


def test_every_error_of_azampay_is_reached_by_a_message() -> None:
    messages = {
        status: [code for codes in sheet.AZAMPAY[place].values() for code in codes]
        for status, place in ((400, "bad request"), (403, "forbidden"))
    }
    named = {azampay_codes.error_of(status, each) for status, all_ in messages.items() for each in all_}
    assert named == set(azampay_codes.ERRORS) | {"400", "403"}
