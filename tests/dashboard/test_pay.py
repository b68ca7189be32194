"""/dashboard/collect and /dashboard/payout: typed as people type, asked once more, and made once."""

import itertools
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from malipo import clock
from malipo.dashboard import pay
from malipo.dashboard.language import Language, Words
from malipo.dashboard.pay import amount_of, phone_of
from malipo.dashboard.visit import Visit
from malipo.db import ConnectionLost, Database, Tx
from malipo.db.group import Group
from malipo.ledger.book import Kind, book
from malipo.ledger.store import wallets
from malipo.merchants.people import Role
from malipo.merchants.store.sessions import Session
from malipo.payments.fees import Band
from malipo.payments.initiate import Answer, Order
from malipo.payments.store import listing, tariffs
from malipo.payments.store.filter import Filter
from malipo.payments.transaction import Transaction, Type
from malipo.service import Service
from malipo.trail import store as trail
from tests.conftest import Running, make_merchant
from tests.dashboard.surf import Seen, Surfer, add_person, surfing
from tests.journeys.crowd import at_once

COLLECT, PAYOUT = "/dashboard/collect", "/dashboard/payout"
TYPED = {
    "amount": "25,000",
    "channel": "MPESA",
    "phone": "0754 000 100",
    "name": "Neema Kileo",
    "description": "Two bags",
}
_numbers = itertools.count(1)
_FIELD = re.compile(r'name="([a-z]+)" type="[a-z]+" value="([^"]*)"')
_KEY = re.compile(r'name="key" value="([^"]*)"')


@dataclass
class Till:
    """A merchant with TZS 100,000, whose payments cost TZS 300, and its owner at the till."""

    database: Database
    merchant_id: str
    surfer: Surfer

    async def key(self, path: str) -> str:
        """What a form that was just opened carries."""
        return key_in(await self.surfer.get(path))

    async def review(self, path: str, key: str, **typed: str) -> Seen:
        return await self.surfer.post(path, TYPED | typed | {"key": key, "step": "review"})

    async def pay(self, path: str, key: str, **typed: str) -> Seen:
        return await self.surfer.post(path, TYPED | typed | {"key": key, "step": "pay"})

    async def made(self) -> list[Transaction]:
        async with self.database.snapshot() as connection:
            return (await listing.page(connection, self.merchant_id, Filter(), page=1, limit=100))[1]

    async def available(self) -> int:
        async with self.database.read() as connection:
            return (await wallets.get(connection, self.merchant_id))[0].available


def key_in(seen: Seen) -> str:
    found = _KEY.search(seen.text)
    assert found is not None, seen.words
    return found[1]


def hidden_in(seen: Seen) -> dict[str, str]:
    """What the page would send when its button is pressed."""
    found = re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">', seen.text)
    return {name: unescape(value) for name, value in found if name not in ("token", "language", "next")}


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.50.0.{next(_numbers)}") as surfer:
        yield surfer


@pytest.fixture
async def till(database: Database, surfer: Surfer) -> Till:
    merchant = await make_merchant(database, wallet=100_000)
    async with database.begin() as tx:
        for type_ in Type:
            await tariffs.replace(tx, merchant.id, type_, "MPESA", [Band(0, fixed=300)])
    person = await add_person(database, merchant.id, f"owner+{secrets.token_hex(6)}@example.com")
    assert (await surfer.log_in(person.email)).status == 303
    return Till(database, merchant.id, surfer)


# As people type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25000", 25000),
        ("25,000", 25000),
        ("25 000", 25000),
        (" 1,250,000 ", 1250000),
        ("TZS 25,000", 25000),
        ("tsh25000", 25000),
        ("Tshs. 25,000", 25000),
        ("25,000/=", 25000),
        ("25,000/-", 25000),
        ("25,000.00", 25000),
        ("0500", 500),
        ("", ""),
        ("0", 0),
        ("25,00", "25,00"),
        ("25.000", "25.000"),
        ("2,5000", "2,5000"),
        ("25,000.50", "25,000.50"),
        ("-500", "-500"),
        ("1e5", "1e5"),
        ("elfu tano", "elfu tano"),
        ("٢٥٠٠٠", "٢٥٠٠٠"),
        ("9" * 16, "9" * 16),
    ],
)
def test_an_amount_is_read_as_it_is_meant_or_not_at_all(text: str, expected: int | str) -> None:
    assert amount_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0754 000 100", "+255754000100"),
        ("0754000100", "+255754000100"),
        ("754000100", "+255754000100"),
        ("255754000100", "+255754000100"),
        ("+255 754 000 100", "+255754000100"),
        ("00255 754-000-100", "+255754000100"),
        ("(0621) 000.100", "+255621000100"),
        ("", ""),
        ("123", "123"),
        ("0854000100", "0854000100"),
        ("07540001000", "07540001000"),
        ("+254754000100", "+254754000100"),
        ("0754 000 10a", "0754 000 10a"),
        ("+255854000100", "+255854000100"),  # of the right length: the rule says that it is wrong
    ],
)
def test_a_number_is_read_however_it_is_typed(text: str, expected: str) -> None:
    assert phone_of(text) == expected


# Once more, then once


@pytest.mark.parametrize(
    ("path", "sentences"),
    [
        (
            COLLECT,
            ["You ask for TZS 25,000 from Neema Kileo +255 754 000 100 M-Pesa", "Fee TZS 300", "wallet TZS 24,700"],
        ),
        (
            PAYOUT,
            [
                "You send TZS 25,000 to Neema Kileo +255 754 000 100 M-Pesa",
                "Fee TZS 300",
                "Recipient gets TZS 25,000",
                "Leaves your wallet TZS 25,300",
                "Your wallet afterwards TZS 74,700",
            ],
        ),
    ],
)
async def test_before_anything_is_made_the_page_repeats_what_will_happen(
    till: Till, path: str, sentences: list[str]
) -> None:
    key = await till.key(path)
    seen = await till.review(path, key)
    assert seen.status == 200
    for each in sentences:
        assert each in seen.words
    assert hidden_in(seen) == TYPED | {"key": key}
    assert await till.made() == []


@pytest.mark.parametrize(("path", "type_"), [(COLLECT, Type.COLLECTION), (PAYOUT, Type.DISBURSEMENT)])
async def test_what_was_confirmed_is_made_as_it_was_shown(till: Till, path: str, type_: Type) -> None:
    asked = await till.review(path, await till.key(path))

    done = await till.surfer.post(path, hidden_in(asked) | {"step": "pay"})

    [made] = await till.made()
    assert (done.status, done.to) == (303, f"/dashboard/transactions/{made.id}")
    assert (made.type, made.amount, made.fee, made.phone) == (type_, 25000, 300, "+255754000100")
    assert (made.channel, made.name, made.description) == ("MPESA", "Neema Kileo", "Two bags")
    assert "It is taken in." in (await till.surfer.get(done.to)).words
    assert await till.available() == (100_000 if type_ is Type.COLLECTION else 74_700)


async def test_who_made_it_is_written_down(till: Till) -> None:
    await till.pay(PAYOUT, await till.key(PAYOUT))
    async with till.database.read() as connection:
        deed = (await trail.find(connection, merchant_id=till.merchant_id, limit=1))[0]
    assert (deed.what, deed.details["amount"]) == ("payment.initiated", 25000)
    assert deed.who.startswith("owner+")


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_button_that_is_pressed_ten_times_at_once_makes_one(till: Till, path: str) -> None:
    key = await till.key(path)
    answers = await at_once([till.pay(path, key) for _ in range(10)])
    [made] = await till.made()
    assert {(each.status, each.to) for each in answers} == {(303, f"/dashboard/transactions/{made.id}")}


async def test_going_back_and_pressing_again_leads_to_what_was_made(till: Till) -> None:
    key = await till.key(PAYOUT)
    first = await till.pay(PAYOUT, key)
    for press in (till.pay, till.review):
        again = await press(PAYOUT, key)
        assert (again.status, again.to) == (303, first.to)
        assert "It made one payment: this one." in (await till.surfer.get(again.to)).words
    assert len(await till.made()) == 1
    assert await till.available() == 74_700


@pytest.mark.parametrize("step", ["review", "pay"])
async def test_going_back_and_changing_the_amount_is_a_new_form_that_says_so(till: Till, step: str) -> None:
    key = await till.key(PAYOUT)
    first = await till.pay(PAYOUT, key)

    seen = await till.surfer.post(PAYOUT, TYPED | {"amount": "30000", "key": key, "step": step})

    assert (seen.status, first.to in seen.text, key_in(seen) == key) == (409, True, False)
    assert "This form has already made a payment: TZS 25,000, Neema Kileo." in seen.words
    assert 'value="30000"' in seen.text
    assert len(await till.made()) == 1
    await till.pay(PAYOUT, key_in(seen), amount="30000")
    assert [each.amount for each in await till.made()] == [30000, 25000]


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_browser_may_keep_the_form_for_whoever_goes_back_and_nobody_else(till: Till, path: str) -> None:
    form = await till.surfer.get(path)
    asked = await till.review(path, key_in(form))
    done = await till.surfer.get((await till.pay(path, key_in(form))).to)
    assert [each.headers["Cache-Control"] for each in (form, asked, done)] == [
        "private, no-cache",
        "private, no-cache",
        "no-store",
    ]


async def test_each_form_that_is_opened_has_a_key_of_its_own(till: Till) -> None:
    assert await till.key(COLLECT) != await till.key(COLLECT)


@pytest.mark.parametrize("key", ["", "with space", "ufunguo-é", "x" * 256])
async def test_without_a_key_it_is_asked_once_more_and_not_made(till: Till, key: str) -> None:
    seen = await till.pay(COLLECT, key)
    assert (seen.status, "Is this right?" in seen.words) == (200, True)
    assert key_in(seen).startswith("dashboard-")
    assert await till.made() == []


async def test_changing_something_brings_the_form_back_as_it_was(till: Till) -> None:
    asked = await till.review(PAYOUT, await till.key(PAYOUT), name='Asha "Mama" <Komba>')
    sent = hidden_in(asked)

    seen = await till.surfer.post(PAYOUT, sent | {"step": "change"})

    assert (seen.status, key_in(seen)) == (200, sent["key"])
    shown = {name: unescape(value) for name, value in _FIELD.findall(seen.text)}
    for name in ("amount", "phone", "description"):
        assert shown[name] == TYPED[name]
    assert shown["name"] == 'Asha "Mama" <Komba>'
    assert re.search(r'value="MPESA" checked', seen.text)
    assert await till.made() == []


# What is wrong


@pytest.mark.parametrize("step", ["review", "pay", ""])
@pytest.mark.parametrize(
    ("typed", "sentences"),
    [
        ({"amount": ""}, ["Please fill this in."]),
        ({"amount": "25.000"}, ["Type a whole number of shillings, such as 25,000."]),
        ({"amount": "499"}, ["The least is TZS 500."]),
        ({"amount": "10,000,001"}, ["The most is TZS 10,000,000."]),
        ({"phone": "12345"}, ["This is not a Tanzanian mobile number. Type it like 0754 000 100."]),
        ({"phone": ""}, ["Please fill this in."]),
        ({"channel": ""}, ["Choose a network."]),
        ({"channel": "CASH"}, ["Choose a network."]),
        ({"name": "x" * 101}, ["At most 100 characters."]),
        ({"description": "a\x00b"}, ["There is a character in it that cannot be stored."]),
        (
            {"amount": "1", "phone": "1", "channel": ""},
            ["The least is TZS 500.", "This is not a Tanzanian mobile number.", "Choose a network."],
        ),
    ],
)
async def test_every_mistake_stands_at_its_field_and_what_was_typed_stays(
    till: Till, step: str, typed: dict[str, str], sentences: list[str]
) -> None:
    sent = TYPED | typed | {"key": "dashboard-1", "step": step}
    seen = await till.surfer.post(COLLECT, sent)
    assert (seen.status, key_in(seen)) == (400, "dashboard-1")
    for each in sentences:
        assert each in seen.words
    assert seen.text.count('class="wrong"') == len(sentences)
    for name in typed:
        assert f'id="field-{name}-wrong"' in seen.text
    for name in {"phone", "amount"} - set(typed):
        assert f'value="{TYPED[name]}"' in seen.text
    assert await till.made() == []


@pytest.mark.parametrize("step", ["review", "pay"])
async def test_a_wallet_that_is_too_low_says_what_it_holds_and_the_form_still_works_later(
    till: Till, step: str
) -> None:
    key = await till.key(PAYOUT)
    sent = TYPED | {"amount": "100,000", "key": key, "step": step}

    seen = await till.surfer.post(PAYOUT, sent)

    assert seen.status == 400
    assert "With the fee this takes TZS 100,300, and the wallet holds TZS 100,000." in seen.words
    assert 'id="field-amount-wrong"' in seen.text
    assert key_in(seen) == key
    assert await till.made() == []
    async with till.database.begin() as tx:
        await book(tx, Kind.TOP_UP, till.merchant_id, 300, reference=secrets.token_hex(8), now=clock.now())
    assert (await till.pay(PAYOUT, key, amount="100,000")).status == 303
    assert await till.available() == 0


async def test_of_two_who_spend_the_whole_wallet_at_once_one_is_told_what_is_left(till: Till) -> None:
    keys = [await till.key(PAYOUT) for _ in range(2)]
    answers = await at_once([till.pay(PAYOUT, key, amount="99,700") for key in keys])
    assert sorted(each.status for each in answers) == [303, 400]
    [refused] = [each for each in answers if each.status == 400]
    assert "and the wallet holds TZS 0." in refused.words
    assert len(await till.made()) == 1


async def in_doubt(tx: Tx, orders: Sequence[Order], /, *, again: bool) -> list[Answer]:
    """A database that goes away while it decides."""
    raise ConnectionLost("gone", in_doubt=True)


async def test_when_nobody_knows_whether_it_was_made_the_same_button_is_there_again(
    till: Till, service: Service
) -> None:
    key = await till.key(PAYOUT)
    person = await add_person(till.database, till.merchant_id, f"owner+{secrets.token_hex(6)}@example.com")
    session = Session("ses_1", person, "Duka")
    body = TYPED | {"key": key, "step": "pay", "token": service.cookies.form_token(session.id)}
    scope = {"type": "http", "method": "POST", "path": PAYOUT, "headers": [(b"host", b"duka")], "query_string": b""}

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": urlencode(body).encode(), "more_body": False}

    doubtful = replace(service, _initiate=Group(till.database, in_doubt, patience_seconds=0))
    visit = Visit(doubtful, Request(scope, receive), Words(Language.ENGLISH), "127.0.0.1", session=session)

    answer = await pay.take_payout(visit)

    text = bytes(answer.body).decode()
    assert answer.status_code == 503
    assert "Press once more: it will not be done twice." in text
    assert f'name="key" value="{key}"' in text
    assert [(await till.pay(PAYOUT, key)).status for _ in range(2)] == [303, 303]
    assert len(await till.made()) == 1


async def test_a_collection_needs_nothing_in_the_wallet(till: Till) -> None:
    assert (await till.pay(COLLECT, await till.key(COLLECT), amount="5,000,000")).status == 303


async def test_a_number_of_another_network_is_worth_a_second_look_and_no_mistake(till: Till) -> None:
    key = await till.key(PAYOUT)
    assert "first given out by" not in (await till.review(PAYOUT, key)).words
    seen = await till.review(PAYOUT, key, channel="AIRTEL_MONEY")
    assert "This number was first given out by M-Pesa." in seen.words
    assert (await till.pay(PAYOUT, key, channel="AIRTEL_MONEY")).status == 303


async def test_what_was_typed_is_never_markup(till: Till) -> None:
    evil = '"><script>alert(1)</script>'
    key = await till.key(COLLECT)
    for seen in (
        await till.review(COLLECT, key, name=evil, description=evil),
        await till.review(COLLECT, key, name=evil, amount=evil, phone=evil, channel=evil),
    ):
        assert "<script>alert" not in seen.text
        assert "alert(1)" in unescape(seen.text)


# Who may


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_viewer_makes_nothing(till: Till, running: Running, path: str) -> None:
    viewer = await add_person(
        till.database, till.merchant_id, f"viewer+{secrets.token_hex(6)}@example.com", Role.VIEWER
    )
    async with surfing(running.url, seen_from=f"10.50.0.{next(_numbers)}") as surfer:
        await surfer.log_in(viewer.email)
        assert (await surfer.get(path)).status == 403
        for step in ("review", "pay"):
            assert (await surfer.post(path, TYPED | {"key": "k", "step": step})).status == 403
        assert path not in (await surfer.get("/dashboard/transactions")).text
    assert await till.made() == []


@pytest.mark.parametrize("path", [COLLECT, PAYOUT])
async def test_a_form_from_elsewhere_makes_nothing(till: Till, path: str) -> None:
    sent = TYPED | {"key": "k", "step": "pay"}
    assert (await till.surfer.post(path, sent, token="0" * 64)).status == 403
    assert (await till.surfer.post(path, sent, headers={"Origin": "https://evil.example"})).status == 403
    assert await till.made() == []
