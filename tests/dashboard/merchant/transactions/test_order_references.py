"""The merchant's own number on the pages: shown, searched for, and typed into a form."""

import pytest

from malipo.payments.transaction import Status, Type
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer


async def test_it_is_in_the_list_and_on_the_page_of_its_payment(shop: TransactionPages) -> None:
    made = await shop.make(order_reference="A-1042")
    await shop.make()

    assert (await shop.surfer.get(PATH)).text.count("A-1042") == 1
    page = await shop.surfer.get(f"{PATH}/{made.id}")
    assert "Order reference A-1042" in page.words
    swahili = await shop.surfer.get(f"{PATH}/{made.id}", headers={"Accept-Language": "sw"})
    assert "Namba ya oda A-1042" in swahili.words


@pytest.mark.parametrize(
    ("reference", "search"),
    [
        ("A-1042", "A-1042"), ("A-1042", "a-10"), ("Oda 77", "da+77"),
        # These look like parts of phone numbers.
        ("2026-1042", "2026-1042"), ("0754 12", "0754+12"), ("10.42", "10.42"), ("1042", "104"),
    ],
)  # fmt: skip
async def test_the_search_finds_it(shop: TransactionPages, reference: str, search: str) -> None:
    made = [(await shop.make(order_reference=reference)).id for _ in range(2)]
    await shop.make(name="Juma", phone="+255684999888")

    assert await shop.listed(f"?search={search}") == sorted(made, reverse=True)


async def test_many_payments_of_one_order_have_pages(shop: TransactionPages) -> None:
    # Two of one millisecond have no order but that of their ids.
    made = sorted([(await shop.make(order_reference="2026-1042")).id for _ in range(27)])

    first = await shop.listed("?search=2026-1042")
    assert first == made[::-1][:25]
    assert await shop.listed(f"?search=2026-1042&before={first[-1]}") == made[::-1][25:]


async def test_a_number_is_still_found_however_it_is_typed(shop: TransactionPages) -> None:
    made = await shop.make(phone="+255754123456", order_reference="A-1")

    assert await shop.listed("?search=0754+123-456") == [made.id]


async def test_several_statuses_are_a_choice(shop: TransactionPages) -> None:
    waiting = await shop.make(Type.COLLECTION, Status.PENDING)
    failed = await shop.make(Type.COLLECTION, Status.FAILED)
    cancelled = await shop.make(Type.COLLECTION, Status.CANCELLED)

    assert await shop.listed("?status=FAILED,CANCELLED") == [cancelled.id, failed.id]
    assert await shop.listed("?status=PENDING,PROCESSING") == [waiting.id]
    seen = await shop.surfer.get(f"{PATH}?status=FAILED,PENDING")
    assert '<option value="FAILED,PENDING" selected>' in seen.text, "a link of one's own says what it filters by"
