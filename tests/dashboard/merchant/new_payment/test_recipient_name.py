"""The pages of a payout show the name behind the number and compare it with the typed one, and never block the payment."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import pytest

from malipo.audit_log import store as audit_log
from malipo.cli import simulator_setup
from malipo.merchants.roles import Role
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo_simulator.subscriber_names import BARRED_DIGITS, subscriber_of
from tests.conftest import NO_LIMITS, Running, starting, until_ready
from tests.dashboard.conftest import OPTIONAL
from tests.dashboard.merchant.batches.batch_pages import seen_in
from tests.dashboard.merchant.new_payment.payment_form import COLLECT, PAYOUT, PaymentForm, numbers
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.dashboard.page_client import Seen, add_person, surfing
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator

RECIPIENT = "/dashboard/payout/recipient"
PHONE = "+255684123456"
NAME = subscriber_of(PHONE).name
TYPED = {"channel": "AIRTEL_MONEY", "phone": "0684 123 456"}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Process]:
    process = start_simulator("--speed", "20")
    yield process
    process.stop()


@pytest.fixture(scope="module")
def airtel(simulator: Process) -> dict[str, Any]:
    """The settings of Airtel Money alone: the other networks are not connected."""
    variables = simulator_setup.environment(simulator.url, asyncio.run(simulator_setup.credentials(simulator.url)))
    found = {name.removeprefix("MALIPO_").lower(): value for name, value in variables.items()}
    return {name: value for name, value in found.items() if name.startswith("airtel_money")}


@pytest.fixture(scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory, database_url: str, airtel: dict[str, Any]
) -> AsyncIterator[Running]:
    """The site of all other tests, with a network that tells names."""
    more = {"trusted_proxies": "127.0.0.1", "recipient_lookups_daily": 6, **airtel, **NO_LIMITS, **OPTIONAL}
    with starting(tmp_path_factory.mktemp("names")) as start:
        yield await until_ready(start("api", database_url=database_url, **more))


async def _fetch(payment_form: PaymentForm, **typed: str) -> Seen:
    return await payment_form.surfer.post(RECIPIENT, TYPED | typed)


async def _looked_up(payment_form: PaymentForm) -> list[dict[str, Any]]:
    async with payment_form.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=payment_form.merchant_id, limit=100)
    return [dict(each.details) for each in found if each.action == "recipient.looked_up"]


async def test_while_one_types_the_page_fetches_the_name(payment_form: PaymentForm) -> None:
    form = await payment_form.surfer.get(PAYOUT)
    assert f'data-recipient="{RECIPIENT}" data-channels="AIRTEL_MONEY"' in form.text
    assert "/dashboard/static/recipient.js" in form.text
    script = await payment_form.surfer.get("/dashboard/static/recipient.js")
    assert script.status == 200
    seen = await _fetch(payment_form)
    assert seen.status == 200
    assert seen.words.strip() == f"Airtel Money has this number under the name {NAME}."
    assert await _looked_up(payment_form) == [{"count": 1, "channel": "AIRTEL_MONEY", "phone": PHONE}]


async def test_a_collection_asks_for_no_name(payment_form: PaymentForm) -> None:
    assert "data-recipient" not in (await payment_form.surfer.get(COLLECT)).text
    await payment_form.review(COLLECT, await payment_form.key(COLLECT), **TYPED)
    assert await _looked_up(payment_form) == []


@pytest.mark.parametrize("typed", [NAME.title(), " ".join(reversed(NAME.split())), NAME.split()[0], ""])
async def test_a_name_that_fits_is_no_warning(payment_form: PaymentForm, typed: str) -> None:
    seen = await _fetch(payment_form, name=typed)
    assert seen.words.strip() == f"Airtel Money has this number under the name {NAME}."


async def test_another_name_is_a_warning_and_stops_nothing(payment_form: PaymentForm) -> None:
    warning = f"Airtel Money has this number under another name: {NAME}. You typed Pili Pili. "
    assert warning in (await _fetch(payment_form, name="Pili Pili")).words
    key = await payment_form.key(PAYOUT)
    asked = await payment_form.review(PAYOUT, key, **TYPED, name="Pili Pili")
    assert asked.status == 200
    assert warning in asked.words
    assert (await payment_form.pay(PAYOUT, key, **TYPED, name="Pili Pili")).status == 303
    assert [each.name for each in await payment_form.made()] == ["Pili Pili"], "what was typed is what is paid"


async def test_a_typed_name_is_shown_as_text(payment_form: PaymentForm) -> None:
    seen = await _fetch(payment_form, name="<b>Pili</b>")
    assert "&lt;b&gt;Pili" in seen.text
    assert "<b>" not in seen.text


async def test_the_page_before_the_money_leaves_has_the_name_without_any_script(payment_form: PaymentForm) -> None:
    seen = await payment_form.review(PAYOUT, await payment_form.key(PAYOUT), **TYPED, name="")
    assert f"Airtel Money has this number under the name {NAME}." in seen.words


async def test_what_was_seen_a_moment_ago_is_not_counted_again(payment_form: PaymentForm) -> None:
    for name in ("", "A", NAME):
        await _fetch(payment_form, name=name)
    await payment_form.review(PAYOUT, await payment_form.key(PAYOUT), **TYPED)
    assert len(await _looked_up(payment_form)) == 1


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        ("101", "Airtel Money says that this number has no account there."),
        (BARRED_DIGITS, "Airtel Money says that this account takes no money at the moment."),
    ],
)
async def test_what_else_the_network_says_is_a_warning(payment_form: PaymentForm, digits: str, words: str) -> None:
    assert words in (await _fetch(payment_form, phone=f"0684 123 {digits}")).words


@pytest.mark.parametrize("phone", ["0684 123 108", "0684 123 122"])
async def test_what_is_unknown_is_not_spoken_of(payment_form: PaymentForm, phone: str) -> None:
    seen = await _fetch(payment_form, phone=phone)
    assert (seen.status, seen.words.strip()) == (200, "")
    asked = await payment_form.review(PAYOUT, await payment_form.key(PAYOUT), **TYPED | {"phone": phone})
    assert (asked.status, "has this number" in asked.words) == (200, False)


@pytest.mark.parametrize(
    "typed", [{"phone": "0684"}, {"channel": "", "phone": "0600 000 100"}, {"channel": "BANK"}, {"name": "x" * 101}]
)
async def test_what_is_not_typed_to_the_end_is_not_looked_up(payment_form: PaymentForm, typed: dict[str, str]) -> None:
    assert (await _fetch(payment_form, **typed)).status == 204
    assert await _looked_up(payment_form) == []


async def test_a_network_that_reports_no_names_changes_nothing(payment_form: PaymentForm) -> None:
    seen = await _fetch(payment_form, channel="MPESA", phone="0754 000 100")
    assert (seen.status, seen.words.strip()) == (200, "")
    assert await _looked_up(payment_form) == []


async def test_above_the_limit_of_the_day_pages_go_on_without_names(payment_form: PaymentForm) -> None:
    seen = [await _fetch(payment_form, phone=f"0684 000 3{n:02}") for n in range(8)]
    assert [bool(each.words.strip()) for each in seen] == [True] * 6 + [False] * 2
    key = await payment_form.key(PAYOUT)
    assert (await payment_form.review(PAYOUT, key, **TYPED)).status == 200
    assert (await payment_form.pay(PAYOUT, key, **TYPED)).status == 303


async def test_only_who_may_pay_may_look(payment_form: PaymentForm, running: Running) -> None:
    email = f"{secrets.token_hex(6)}@names.example"
    viewer = await add_person(payment_form.database, payment_form.merchant_id, email, role=Role.VIEWER)
    async with surfing(running.url, seen_from=f"10.51.0.{next(numbers)}") as surfer:
        await surfer.log_in(viewer.email)
        assert (await surfer.post(RECIPIENT, TYPED)).status == 403
    async with surfing(running.url, seen_from=f"10.51.0.{next(numbers)}") as stranger:
        assert (await stranger.post(RECIPIENT, TYPED)).to.startswith("/dashboard/login")


async def test_in_kiswahili(payment_form: PaymentForm) -> None:
    await payment_form.surfer.post("/dashboard/language", {"language": "sw", "next": PAYOUT})
    assert (await _fetch(payment_form)).words.strip() == f"Airtel Money ina namba hii kwa jina la {NAME}."


async def test_a_number_without_an_account_is_marked_on_the_lines_of_a_batch_and_for_who_approves_it(
    payment_form: PaymentForm,
) -> None:
    surfer, says = payment_form.surfer, "Airtel Money says that this number has no account there."
    await surfer.get("/dashboard/batches/new")
    content = f"Phone,Network,Amount\n0684 123 101,Airtel,1000\n0684 123 {BARRED_DIGITS},Airtel,1000\n".encode()
    form = aiohttp.FormData({"token": surfer.token})
    form.add_field("file", content, filename="wages.csv", content_type="text/csv")
    sent = surfer.headers | {"Origin": surfer.url, "Sec-Fetch-Site": "same-origin"}
    async with surfer.http.post(f"{surfer.url}/dashboard/batches/new", data=form, headers=sent) as answer:
        draft = answer.url.path
    page = await surfer.get(f"{draft}?show=warnings")
    assert says in page.words
    assert "Airtel Money says that this account takes no money at the moment." in page.words
    fields = {"seen": seen_in(page), "batchName": "Wages"}
    assert "Look at the warnings first" in (await surfer.post(f"{draft}/submit", fields)).words
    batch = (await surfer.post(f"{draft}/submit", fields | {"looked": "yes"})).to
    async with payment_form.database.begin() as tx:
        await approval_rules.save(tx, payment_form.merchant_id, ApprovalRules(takes_two=False, above=None))
    assert "1 number has no account, its network says:" in (await surfer.get(f"{batch}/approve")).words
