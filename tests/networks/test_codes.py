"""Every code that is known, in every place where a network can say it, and a hundred that nobody knows."""

import json
import random
from collections.abc import Awaitable, Callable, Iterable

import pytest

from malipo.networks import (
    airtel_money_codes,
    clickpesa_callbacks,
    clickpesa_codes,
    halopesa_codes,
    mpesa_codes,
    tigo_pesa_codes,
)
from malipo.networks.azampay import codes as azampay_codes
from malipo.networks.code_meanings import Table
from malipo.networks.connector import Answer, Callback, Connector, Order, Type, Verdict
from malipo.networks.http.client import HttpClient
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
from tests.networks.scripted_server import Reply, ScriptedServer, http
from tests.networks.verdict_words import UNKNOWN, Outcome

# A code, said in one place; None where it could not be read at all.
Say = Callable[[Connector, ScriptedServer, str], Awaitable[Answer | None]]


def in_reply(line: str, order: Order, made: Callable[[str], Reply]) -> Say:
    async def say(connector: Connector, server: ScriptedServer, code: str) -> Answer:
        server.expect(line, made(code))
        return await connector.send(order)

    return say


def in_answer(line: str, order: Order, made: Callable[[str], Reply]) -> Say:
    async def say(connector: Connector, server: ScriptedServer, code: str) -> Answer:
        server.expect(line, made(code))
        return await connector.ask(order)

    return say


def in_callback(made: Callable[[str], str]) -> Say:
    async def say(connector: Connector, server: ScriptedServer, code: str) -> Answer | None:
        news = connector.read(Callback({}, made(code).encode()))
        return None if news is None else news.answer

    return say


IN, OUT = Type.COLLECTION, Type.DISBURSEMENT

MPESA: dict[str, Say] = {
    "collection": in_reply(
        mpesa.COLLECT, mpesa.COLLECTION, lambda code: mpesa.coded(400, code, key=mpesa.COLLECTION.key)
    ),
    "payout": in_reply(
        mpesa.DISBURSE, mpesa.DISBURSEMENT, lambda code: mpesa.coded(400, code, key=mpesa.DISBURSEMENT.key)
    ),
    "callback": in_callback(
        lambda code: json.dumps({"input_ThirdPartyConversationID": "K1", "input_ResultCode": code})
    ),
    "query": in_answer(
        mpesa.QUERY, mpesa.COLLECTION, lambda code: http("400 Whatever", json.dumps({"output_ResponseCode": code}))
    ),
    "word": in_answer(mpesa.QUERY, mpesa.COLLECTION, mpesa.told),
}
AIRTEL: dict[str, Say] = {
    "collection": in_reply(airtel.COLLECT, airtel.COLLECTION, lambda code: airtel.coded(200, code, success=True)),
    "payout": in_reply(airtel.DISBURSE, airtel.DISBURSEMENT, lambda code: airtel.coded(200, code, success=True)),
    "collection's enquiry": in_answer(
        airtel.ASK[IN], airtel.COLLECTION, lambda code: airtel.coded(200, code, success=True)
    ),
    "payout's enquiry": in_answer(
        airtel.ASK[OUT], airtel.DISBURSEMENT, lambda code: airtel.coded(200, code, success=True)
    ),
    "letters": in_answer(
        airtel.ASK[IN], airtel.COLLECTION, lambda code: airtel.told(airtel.COLLECTION, code, code="", success=True)
    ),
    "callback": in_callback(lambda code: json.dumps({"transaction": {"id": "K1", "status_code": code}})),
}
TIGO: dict[str, Say] = {
    "push": in_reply(tigo.PUSH, tigo.COLLECTION, lambda code: tigo.push_reply(code, status=code == "BILLER-18-0000-S")),
    "payout": in_reply(tigo.CASH_IN, tigo.DISBURSEMENT, tigo.cash_in_reply),
    "query": in_answer(tigo.QUERY, tigo.COLLECTION, lambda code: tigo.query_reply(code, "")),
    "word": in_answer(tigo.QUERY, tigo.COLLECTION, lambda code: tigo.query_reply("0", code)),
    "callback": in_callback(lambda code: json.dumps({"Status": code, "ReferenceID": "MLPK1", "Amount": 1500})),
}
HALOPESA: dict[str, Say] = {
    "push": in_reply(halo.SERVICE, halo.COLLECTION, halo.reply),
    "callback": in_callback(lambda code: halo.enveloped(halo.fields(code, response_type="FIN"))),
}
CLICKPESA: dict[str, Say] = {
    "collection": in_reply(click.PUSH, click.COLLECTION, lambda code: click.reply(IN, status=code)),
    "payout": in_reply(click.PAY_OUT, click.DISBURSEMENT, lambda code: click.reply(OUT, status=code)),
    "collection's query": in_answer(click.ASK[IN], click.COLLECTION, lambda code: click.reply(IN, status=code)),
    "payout's query": in_answer(click.ASK[OUT], click.DISBURSEMENT, lambda code: click.reply(OUT, status=code)),
    "event": in_callback(lambda code: json.dumps({"event": code, "data": {"orderReference": "K1"}})),
    "bad request": in_reply(
        click.PUSH, click.COLLECTION, lambda code: http("400 Bad Request", json.dumps({"message": code}))
    ),
    "not found": in_reply(
        click.PUSH, click.COLLECTION, lambda code: http("404 Not Found", json.dumps({"message": code}))
    ),
}

AZAMPAY: dict[str, Say] = {
    "query": in_answer(azam.ASK, azam.ACCEPTED_ORDER, lambda code: azam.told(status=code)),
    "callback": in_callback(
        lambda code: json.dumps({"initiatorReferenceId": "K1", "status": code, "amount": "250000"})
    ),
    "callback as of a collection": in_callback(
        lambda code: json.dumps({"utilityref": "K1", "transactionstatus": code, "amount": "250000"})
    ),
    "bad request": in_reply(azam.PAY_OUT, azam.DISBURSEMENT, lambda code: azam.refused(400, code)),
    "forbidden": in_reply(azam.PAY_OUT, azam.DISBURSEMENT, lambda code: azam.refused(403, code)),
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


def let_in(server: ScriptedServer) -> None:
    server.always(mpesa.SESSION, mpesa.SESSION_GIVEN)
    server.always(airtel.GET_TOKEN, airtel.TOKEN_GIVEN)
    server.always(tigo.GET_TOKEN, tigo.TOKEN_GIVEN)
    server.always(click.GET_TOKEN, click.TOKEN_GIVEN)
    server.always(azam.GET_TOKEN, azam.TOKEN_GIVEN)


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
    let_in(server)
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
    let_in(server)
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
            *("Insufficient balance", "Amount exceeds the limit"),
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
