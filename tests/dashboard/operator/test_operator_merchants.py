"""/operator/merchants: the list with balances, one with all that it has, its payments, and what was sent to it."""

import secrets

from malipo import clock
from malipo.approvals import booking_approval, booking_history
from malipo.approvals.booking_history import BookingFilter
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import operator_at
from malipo.db import Database
from malipo.ledger.bookings import Booking, BookingKind
from malipo.networks.connector import Channel
from malipo.operators import store as operators
from malipo.operators.roles import Role
from malipo.payments.fees import Band
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from malipo.webhooks.delivery_state import DeliveryState
from tests.conftest import make_merchant
from tests.dashboard.operator.operator_pages import COLLECTION, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import add_person
from tests.operators.role_steps import give

PATH = "/operator/merchants"


def _database(pages: OperatorPages) -> Database:
    return pages.service.queries.database


async def test_the_list_has_every_merchant_with_its_balances_and_is_searched(operator_pages: OperatorPages) -> None:
    asha, database = await operator_pages.operator("asha"), _database(operator_pages)
    name = f"0 Soko {secrets.token_hex(4)}"  # among the first by name, however many there are
    other = await make_merchant(database, wallet=123_456, name=name)
    await add_person(database, other.id, email := f"neema-{secrets.token_hex(4)}@example.com")
    whole = await asha.surfer.get(PATH)
    assert all(each in whole.words for each in (name, "TZS 123,456", other.id))
    for typed in (name[-6:].upper(), other.id, email[:12]):
        seen = await asha.surfer.get(f"{PATH}?search={typed}")
        assert (name in seen.words, "Duka <b>la</b> Juma" in seen.words) == (True, False), typed
    assert "No merchant fits" in (await asha.surfer.get(f"{PATH}?search=nobody%25")).words


async def test_the_page_of_a_merchant_shows_what_it_has(operator_pages: OperatorPages) -> None:
    asha, database, merchant = await operator_pages.operator("asha"), _database(operator_pages), operator_pages.merchant
    payment = await operator_pages.late(COLLECTION, 2500)
    await add_person(database, merchant.id, email := f"neema-{secrets.token_hex(4)}@example.com")
    booking = Booking(BookingKind.TOP_UP, merchant.id, 7_000, f"NMB-{secrets.token_hex(4)}")
    by, now = operator_at(asha.name, "till"), clock.now()
    async with database.begin() as tx:
        await booking_approval.request(tx, booking, approval_amount=10_000, actor=by, now=now)
        await tariffs.replace(tx, merchant.id, Type.COLLECTION, Channel.MPESA, [Band(500, 10, 150, 20, 9_000)])
    seen = await asha.surfer.get(f"{PATH}/{merchant.id}")
    assert seen.status == 200
    said = ("Duka <b>la</b> Juma", payment.reference, email, booking.bank_reference, asha.name, "1.5 %", "TZS 9,000")
    assert [each for each in said if each not in seen.words] == []
    assert "<b>la</b>" not in seen.text, "names come from others"
    assert (await asha.surfer.get(f"{PATH}/mer_unknown")).status == 404


async def test_support_sees_no_money_of_the_bank(operator_pages: OperatorPages) -> None:
    neema = await operator_pages.operator("neema")
    await give(_database(operator_pages), neema.name, Role.SUPPORT)
    seen = await neema.surfer.get(f"{PATH}/{operator_pages.merchant.id}")
    assert "Last payments" in seen.words
    assert not any(each in seen.text for each in ("Bank accounts", "/operator/bookings", "/operator/audit"))


async def test_the_payments_of_a_merchant_are_filtered_and_lead_to_their_pages(operator_pages: OperatorPages) -> None:
    asha, merchant = await operator_pages.operator("asha"), operator_pages.merchant
    payment = await operator_pages.late(COLLECTION, 2500)
    path = f"{PATH}/{merchant.id}/payments"
    for query, is_there in (
        ("", True),
        ("?status=PROCESSING&channel=MPESA", True),
        ("?status=FAILED", False),
        (f"?search={payment.reference}", True),
        ("?search=nothing-like-it", False),
        ("?status=WRONG&channel=%00", True),
    ):
        seen = await asha.surfer.get(path + query)
        assert seen.status == 200, query
        assert (f'href="/operator/cases/{payment.reference}"' in seen.text) is is_there, query
    other = await make_merchant(_database(operator_pages), name="Another")
    assert payment.reference not in (await asha.surfer.get(f"{PATH}/{other.id}/payments")).text


async def test_support_sends_a_webhook_again_and_an_auditor_does_not(operator_pages: OperatorPages) -> None:
    database, merchant = _database(operator_pages), operator_pages.merchant
    neema, juma = await operator_pages.operator("neema"), await operator_pages.operator("juma")
    await give(database, neema.name, Role.SUPPORT)
    await give(database, juma.name, Role.AUDITOR)
    endpoint = f"whe_{secrets.token_hex(4)}"
    async with database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO webhook_endpoints (id, merchant_id, url, events, is_active, secret, created_at)
            VALUES ($2, $1, 'https://duka.example/hook', '{*}', true, 'x', now())
            """,
            merchant.id,
            endpoint,
        )
        await tx.execute(
            """
            INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, state, due_at, attempt_count)
            VALUES ($2, 'evt_1', $1, 'payment.completed', 'EXHAUSTED', now(), 9)
            """,
            merchant.id,
            endpoint,
        )
    page = f"{PATH}/{merchant.id}/deliveries/{endpoint}"
    resend = f"{page}/evt_1/resend"
    assert resend not in (await juma.surfer.get(page)).text
    assert (await juma.surfer.post(resend)).status == 403
    assert await _state(database, endpoint) == DeliveryState.EXHAUSTED
    assert resend in (await neema.surfer.get(page)).text
    other = await make_merchant(database, name="Another")
    assert (await neema.surfer.post(f"{PATH}/{other.id}/deliveries/{endpoint}/evt_1/resend")).status == 404
    assert (await neema.surfer.post(resend)).to == page
    async with database.read() as connection:
        [deed] = await audit_log.find(connection, merchant_id=merchant.id, limit=1)
    assert (deed.action, deed.actor) == ("webhook.redelivered", f"operator {neema.name}")
    assert (await neema.surfer.get(f"{PATH}/{merchant.id}/deliveries/whe_2")).status == 404


async def _state(database: Database, endpoint: str) -> str:
    async with database.read() as connection:
        return str(await connection.fetchval("SELECT state FROM webhook_deliveries WHERE endpoint_id = $1", endpoint))


async def test_the_history_of_bookings_says_who_booked_and_who_approved(operator_pages: OperatorPages) -> None:
    database, merchant = _database(operator_pages), operator_pages.merchant
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    alone, by_two, waits = (f"NMB-{secrets.token_hex(4)}" for _ in range(3))
    by = operator_at(asha.name, "till")
    for reference, amount in ((alone, 900), (by_two, 5_000), (waits, 6_000)):
        booking = Booking(BookingKind.TOP_UP, merchant.id, amount, reference)
        async with database.begin() as tx:
            await booking_approval.request(tx, booking, approval_amount=1_000, actor=by, now=clock.now())
    async with database.begin() as tx:
        await booking_approval.approve(tx, by_two, actor=operator_at(juma.name, "till"), now=clock.now())
    path = "/operator/bookings/history"
    seen = await asha.surfer.get(f"{path}?merchant={merchant.id}")
    assert seen.words.index(by_two) < seen.words.index(alone), "the latest first"
    assert f"{asha.name} approved by {juma.name}" in seen.words
    assert waits not in seen.words, "what waits was not booked"
    for query, found in ((f"reference={alone}", {alone}), ("kind=settlement", set()), ("from=2100-01-01", None)):
        said = await asha.surfer.get(f"{path}?{query}")
        assert said.status == (400 if found is None else 200)
        assert {each for each in (alone, by_two) if each in said.text} == (found or set())
    assert "No booking fits" in (await asha.surfer.get(f"{path}?merchant=no-such")).words


async def test_the_history_turns_pages_by_when_something_was_booked(operator_pages: OperatorPages) -> None:
    """A proposal has its id from when it was made, which may be days before it was booked."""
    database, merchant = _database(operator_pages), operator_pages.merchant
    by, second = operator_at("asha", "till"), operator_at("juma", "till")
    references = [f"NMB-{secrets.token_hex(4)}" for _ in range(5)]
    async with database.begin() as tx:
        for name in ("asha", "juma"):
            await operators.insert_operator(tx, f"opr_{name}_{references[0]}", name, now=clock.now())
    for reference in references:
        booking = Booking(BookingKind.TOP_UP, merchant.id, 5_000, reference)
        async with database.begin() as tx:
            await booking_approval.request(tx, booking, approval_amount=0, actor=by, now=clock.now())
    for reference in reversed(references):
        async with database.begin() as tx:
            await booking_approval.approve(tx, reference, actor=second, now=clock.now())
    wanted, found, before = BookingFilter(merchant_id=merchant.id), [], None
    async with database.read() as connection:
        while page := await booking_history.find(connection, wanted, before=before, limit=2):
            found += [each.reference for each in page]
            before = page[-1].id
    assert found[:5] == references
