"""GET /v1/payments: filters, ranges of time, totals and pages."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.app.assemble import Service
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type
from tests.api.conftest import bring, created, place
from tests.api.listing import DAY, MILLISECOND, found, is_found, page, wrong
from tests.conftest import COLLECTION, Client, Merchant


async def test_a_merchant_without_transactions_has_an_empty_first_page(api: Client) -> None:
    body = await page(api)

    assert body["transactions"] == []
    assert body["pagination"] == {"total": 0, "page": 1, "limit": 20, "pages": 0}


async def test_the_newest_stands_first(api: Client, service: Service, merchant: Merchant) -> None:
    hours = [5, 1, 9, 3, 7]
    placed = {hour: (await place(service, merchant, at=DAY + timedelta(hours=hour))).id for hour in hours}

    assert await found(api) == [placed[hour] for hour in sorted(hours, reverse=True)]


async def test_what_was_just_created_stands_first(api: Client, service: Service, merchant: Merchant) -> None:
    await place(service, merchant, at=DAY)
    ids = [(await created(api, COLLECTION))["id"] for _ in range(3)]

    assert (await found(api))[0] == ids[-1]


@pytest.fixture
async def grid(service: Service, merchant: Merchant) -> dict[tuple[str, str, str], str]:
    """One transaction for each type, channel and status."""
    ids = {}
    for type_ in Type:
        for channel in Channel:
            for status in Status:
                placed = await place(service, merchant, at=DAY, type_=type_, channel=channel)
                await bring(service, merchant, placed.id, status)
                ids[(type_.value, channel.value, status.value)] = placed.id
    return ids


async def test_every_combination_of_filters_finds_exactly_what_it_names(
    api: Client, grid: dict[tuple[str, str, str], str]
) -> None:
    for type_ in (None, *Type):
        for channel in (None, *Channel):
            for status in (None, *Status):
                names = {"type": type_, "channel": channel, "status": status}
                query = "&".join(f"{name}={value}" for name, value in names.items() if value is not None)
                expected = {
                    id_
                    for place, id_ in grid.items()
                    if all(wanted in (None, is_) for wanted, is_ in zip(names.values(), place, strict=True))
                }

                assert set(await found(api, f"limit=100&{query}")) == expected, query


async def test_filters_a_range_and_a_search_narrow_each_other(
    api: Client, service: Service, merchant: Merchant
) -> None:
    wanted = await place(service, merchant, at=DAY, name="Asha")
    await place(service, merchant, at=DAY, name="Asha", channel=Channel.HALOPESA)
    await place(service, merchant, at=DAY, name="Juma")
    await place(service, merchant, at=DAY - timedelta(days=1), name="Asha")
    await place(service, merchant, at=DAY, name="Asha", type_=Type.DISBURSEMENT)

    query = "search=asha&channel=MPESA&type=COLLECTION&status=PENDING&from=2026-03-14&to=2026-03-14&limit=5&page=1"

    assert await found(api, query) == [wanted.id]


async def test_only_the_callers_transactions_are_listed(
    api: Client, service: Service, merchant: Merchant, stranger: Merchant
) -> None:
    ours = await place(service, merchant, at=DAY, name="Asha")
    await place(service, stranger, at=DAY, name="Asha")

    for query in ("", "search=asha", "from=2026-03-14&to=2026-03-14", "status=PENDING", "type=COLLECTION"):
        assert await found(api, query) == [ours.id], query


@pytest.mark.parametrize(
    ("at", "query", "is_in"),
    [
        # A bare date begins with its first millisecond and ends with its last.
        (DAY, "from=2026-03-14", True),
        (DAY - MILLISECOND, "from=2026-03-14", False),
        (DAY, "to=2026-03-14", True),
        (DAY + timedelta(days=1) - MILLISECOND, "to=2026-03-14", True),
        (DAY + timedelta(days=1), "to=2026-03-14", False),
        (DAY + timedelta(hours=12), "from=2026-03-14&to=2026-03-14", True),
        (DAY + timedelta(hours=12), "from=2026-03-15&to=2026-03-16", False),
        (datetime(2024, 2, 29, 23, 59, 59, 999000, UTC), "to=2024-02-29", True),
        # A date-time is a point, and both ends are in the range.
        (DAY + timedelta(hours=8), "from=2026-03-14T08:00:00Z&to=2026-03-14T08:00:00Z", True),
        (DAY + timedelta(hours=8), "from=2026-03-14T08:00Z&to=2026-03-14T08:00Z", True),
        (DAY + timedelta(hours=8) + MILLISECOND, "to=2026-03-14T08:00:00Z", False),
        (DAY + timedelta(hours=8) - MILLISECOND, "from=2026-03-14T08:00:00Z", False),
        (DAY + MILLISECOND * 123, "from=2026-03-14T00:00:00.123Z&to=2026-03-14T00:00:00.123Z", True),
        (DAY + MILLISECOND * 123, "to=2026-03-14T00:00:00.122Z", False),
        (DAY + MILLISECOND * 123, "from=2026-03-14T00:00:00.124Z", False),
        (DAY + MILLISECOND * 123, "from=2026-03-14T00:00:00.123001Z", False),
        (DAY + MILLISECOND * 123, "to=2026-03-14T00:00:00.123999Z", True),
        # Offsets are counted in; an unencoded plus arrives as a space and is understood.
        (DAY, "from=2026-03-14T03:00:00%2B03:00&to=2026-03-14T03:00:00%2B03:00", True),
        (DAY, "from=2026-03-14T03:00:00+03:00&to=2026-03-14T03:00:00+03:00", True),
        (DAY, "from=2026-03-14T03:00:00.000%2B0300", True),
        (DAY, "from=2026-03-13T19:00:00-05:00&to=2026-03-13T19:00:00-05:00", True),
        (DAY, "from=2026-03-14T00:00:00-00:01", False),
        (DAY, "to=2026-03-14T00:00:00+00:01", False),
        # Mixed, and wide.
        (DAY + timedelta(hours=20), "from=2026-03-14T20:00:00Z&to=2026-03-14", True),
        (DAY, "from=0001-01-01", True),
        (DAY, "to=1969-12-31", False),
        (DAY, "from=1969-12-31T23:59:59Z", True),
        (DAY, "to=9999-12-30", True),
        (DAY, "from=9999-12-31", False),
        (DAY, "to=9999-12-31T23:59:59Z", True),
    ],
)
async def test_a_range_includes_both_of_its_ends(
    api: Client, service: Service, merchant: Merchant, at: datetime, query: str, is_in: bool
) -> None:
    await place(service, merchant, at=at)

    assert await is_found(api, query) is is_in


async def test_the_last_date_there_is_ends_a_range(api: Client, service: Service, merchant: Merchant) -> None:
    await place(service, merchant, at=DAY)

    assert await is_found(api, "to=9999-12-31")


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize(
    "value",
    [
        "", "yesterday", "2026", "2026-03", "2026-3-14", "14-03-2026", "20260314", "2026-02-29", "2026-13-01",
        "2026-00-01", "0000-01-01", "10000-01-01", "-2026-03-14", "2026-03-14T08:00:00", "2026-03-14T08",
        "2026-03-14T25:00:00Z", "2026-03-14T08:60:00Z", "2026-03-14T08:00:00%2B25:00", "2026-03-14%2008:00:00Z",
        "2026-03-14T08:00:00Europe/Paris", "1773446400", "1773446400000", "2026-03-14T08:00:00.1234567Z",
        "2026-03-14%00", "2026-03-14%0A", "%D9%A2%D9%A0%D9%A2%D9%A6-03-14",
    ],
)  # fmt: skip
async def test_what_is_no_date_is_refused(api: Client, name: str, value: str) -> None:
    assert list(await wrong(api, f"{name}={value}")) == [name]


@pytest.mark.parametrize(
    "query",
    [
        "from=2026-03-15&to=2026-03-14",
        "from=2026-03-14T08:00:00.001Z&to=2026-03-14T08:00:00Z",
        "from=2026-03-14T08:00:00Z&to=2026-03-14T08:00:00%2B01:00",
        "from=2026-03-15T00:00:00Z&to=2026-03-14",
    ],
)
async def test_a_range_that_ends_before_it_begins_is_refused(api: Client, query: str) -> None:
    assert list(await wrong(api, query)) == ["from"]


@pytest.fixture
async def many(service: Service, merchant: Merchant) -> list[str]:
    """The ids of 45 transactions, newest first."""
    ids = [(await place(service, merchant, at=DAY + timedelta(minutes=n))).id for n in range(45)]
    return ids[::-1]


async def test_pages_hold_20_and_the_totals_are_exact(api: Client, many: list[str]) -> None:
    pages = [await page(api), await page(api, "page=1"), await page(api, "page=2"), await page(api, "page=3")]

    assert [[each["id"] for each in body["transactions"]] for body in pages] == [
        many[:20],
        many[:20],
        many[20:40],
        many[40:],
    ]
    assert [body["pagination"] for body in pages] == [
        {"total": 45, "page": number, "limit": 20, "pages": 3} for number in (1, 1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("limit", "pages"),
    [(1, 45), (2, 23), (9, 5), (10, 5), (15, 3), (22, 3), (23, 2), (44, 2), (45, 1), (46, 1), (100, 1)],
)
async def test_the_pages_together_are_the_whole_list(api: Client, many: list[str], limit: int, pages: int) -> None:
    ids = []
    for number in range(1, pages + 1):
        body = await page(api, f"limit={limit}&page={number}")
        assert body["pagination"] == {"total": 45, "page": number, "limit": limit, "pages": pages}
        ids += [each["id"] for each in body["transactions"]]

    assert ids == many


@pytest.mark.parametrize("number", [4, 5, 1000, 1_000_000_000])
async def test_a_page_past_the_end_is_empty_and_still_has_the_total(api: Client, many: list[str], number: int) -> None:
    body = await page(api, f"page={number}")

    assert body["transactions"] == []
    assert body["pagination"] == {"total": 45, "page": number, "limit": 20, "pages": 3}


async def test_a_filtered_total_counts_only_what_the_filter_finds(api: Client, many: list[str]) -> None:
    body = await page(api, "limit=5&page=2&from=2026-03-14T00:00:00Z&to=2026-03-14T00:11:00Z")

    assert body["pagination"] == {"total": 12, "page": 2, "limit": 5, "pages": 3}
    assert [each["id"] for each in body["transactions"]] == many[33:][5:10]


@pytest.mark.parametrize("name", ["page", "limit"])
@pytest.mark.parametrize(
    "value",
    ["0", "-1", "", "x", "1.0", "1e1", "0x10", "%201", "%2B1", "1%20", "1%00", "1_0", "NaN", "9" * 19, "9" * 400],
)
async def test_a_page_or_limit_that_is_no_number_of_the_right_size_is_refused(
    api: Client, name: str, value: str
) -> None:
    assert list(await wrong(api, f"{name}={value}")) == [name]


async def test_a_limit_over_100_is_refused(api: Client) -> None:
    assert (await page(api, "limit=100"))["pagination"]["limit"] == 100
    assert list(await wrong(api, "limit=101")) == ["limit"]


async def test_unknown_parameters_are_ignored(api: Client, many: list[str]) -> None:
    assert await page(api, "sort=asc&wait=x&Page=7&STATUS=x&page[]=3&=&&a=%00") == await page(api)


async def test_all_bad_parameters_are_reported_at_once(api: Client) -> None:
    query = "status=DONE&type=REFUND&channel=VISA&from=x&to=y&search=%00&page=0&limit=101"

    details = await wrong(api, query)

    assert set(details) == {"status", "type", "channel", "from", "to", "search", "page", "limit"}
    assert all(messages and all(isinstance(each, str) for each in messages) for messages in details.values())


@pytest.mark.parametrize(
    "query",
    [
        "status=pending",
        "status=",
        "status=PENDING,",
        "status=,PENDING",
        "status=PENDING,DONE",
        "type=collection",
        "type=",
        "channel=mpesa",
        "channel=",
    ],
)
async def test_a_filter_that_names_no_known_value_is_refused(api: Client, query: str) -> None:
    assert list(await wrong(api, query)) == [query.split("=")[0]]
