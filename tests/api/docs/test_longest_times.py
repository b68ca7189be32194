"""How long a payment can be open, as the page for merchants says it: computed from the settings and the networks' codes."""

from collections.abc import Callable, Sequence

import pytest

from malipo.networks.airtel_money import codes as airtel_money
from malipo.networks.code_meanings import Table
from malipo.networks.connector import Connector, Type, Verdict
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa import codes as mpesa
from malipo.networks.tigo_pesa import codes as tigo_pesa
from malipo.settings import Settings
from tests.api.docs.samples import DOCS
from tests.networks.payment_calls import (
    connect_airtel,
    connect_azampay,
    connect_clickpesa,
    connect_halopesa,
    connect_mpesa,
    connect_tigo,
)

PAGE = (DOCS / "guides" / "payments.md").read_text()
SETTINGS = Settings()
NOT_FOUNDS = 3  # answers in a row
# Each network's name, its connector, and the answers of its query about a collection.
NETWORKS: tuple[tuple[str, Callable[..., Connector], Table], ...] = (
    ("M-Pesa", connect_mpesa, mpesa.QUERIES),
    ("Tigo Pesa", connect_tigo, tigo_pesa.queries(())),
    ("Airtel Money", connect_airtel, airtel_money.ENQUIRIES[Type.COLLECTION]),
    ("HaloPesa", connect_halopesa, {}),
    ("ClickPesa", connect_clickpesa, {}),  # its "not found" is no word of a payment: no code of it is listed
    ("AzamPay", connect_azampay, {}),
)
ASKED = {
    frozenset(Type): "collections and payouts",
    frozenset({Type.COLLECTION}): "collections",
    frozenset({Type.DISBURSEMENT}): "payouts",
    frozenset[Type](): "nothing: it only reports",
}


def ends_after_seconds(polls: Sequence[int], least_seconds: int, least_answers: int) -> int:
    """When the answer comes that is the last one needed: enough of them, and late enough."""
    answers, seconds = 0, 0
    while answers < least_answers or seconds < least_seconds:
        seconds += polls[min(answers, len(polls) - 1)]
        answers += 1
    return seconds


def not_received(table: Table) -> str:
    verdicts = {meaning.verdict for meaning in table.values()}
    polls = SETTINGS.poll_seconds
    if Verdict.MISSING in verdicts:
        seconds = ends_after_seconds(polls, SETTINGS.not_found_seconds, NOT_FOUNDS)
    elif Verdict.NOT_INDEXED in verdicts:
        seconds = ends_after_seconds(polls, SETTINGS.not_indexed_seconds, SETTINGS.not_indexed_answers)
    else:
        return "not by itself: a person decides"
    return f"after about {-(-seconds // 60)} minutes"


def row(name: str, connector: Connector, table: Table) -> str:
    carries = {Type.DISBURSEMENT} if name == "AzamPay" else {Type.COLLECTION} if name == "HaloPesa" else set(Type)
    asked = frozenset(type_ for type_ in carries if connector.can_query(type_))
    end = not_received(table) if Type.COLLECTION in carries else "it carries no collections"
    return f"| {name} | {ASKED[asked]} | {end} |"


async def test_the_page_says_for_each_network_how_long_a_payment_can_be_open() -> None:
    http_client = HttpClient()
    for name, connect, table in NETWORKS:
        assert row(name, connect(1, http_client), table) in PAGE


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (SETTINGS.lapse_seconds, "its network is down | 10 minutes"),
        (SETTINGS.unsettled_seconds, "after 1 hour the operators"),
    ],
)
def test_the_page_says_when_a_payment_is_given_up_and_when_people_see_it(seconds: int, words: str) -> None:
    assert {"10 minutes": 600, "1 hour": 3600}[
        next(each for each in ("10 minutes", "1 hour") if each in words)
    ] == seconds
    assert words in PAGE


def test_the_page_says_when_a_network_is_queried() -> None:
    written = {
        15: "15 seconds",
        30: "30 seconds",
        60: "1 minute",
        120: "2 minutes",
        300: "5 minutes",
        900: "15 minutes",
    }
    *polls, last = SETTINGS.poll_seconds
    assert last == 3600
    first, *more = (written[each] for each in polls)
    assert f"{first} after the request, then {', '.join(more)} and 1 hour after the query before" in PAGE
