"""GET /v1/payments?search=: what a search finds, and what it does not look into."""

from datetime import timedelta
from urllib.parse import quote

import pytest

from malipo.app.assemble import Service
from malipo.payments.transaction import Type
from tests.api.conftest import created, place
from tests.api.listing import DAY, found, is_found, wrong
from tests.api.raw_http import exchange, request
from tests.conftest import COLLECTION, Client, Merchant, Running


@pytest.mark.parametrize(
    ("search", "is_in"),
    [
        ("Asha Mwinyi", True),
        ("asha mwinyi", True),
        ("ASHA", True),
        ("ha mw", True),
        ("wiNY", True),
        ("  asha  ", True),
        ("ashamwinyi", False),
        ("Juma", False),
        ("+255754123456", True),
        ("255754123456", True),
        ("4123", True),
        ("+2557541234567", False),
        ("MLP-", True),
        ("mlp-", True),
    ],
)
@pytest.mark.parametrize("type_", [Type.COLLECTION, Type.DISBURSEMENT])
async def test_search_finds_a_part_of_a_name_a_phone_or_a_reference(
    api: Client, service: Service, merchant: Merchant, type_: Type, search: str, is_in: bool
) -> None:
    await place(service, merchant, at=DAY, type_=type_, name="Asha Mwinyi", phone="+255754123456")

    assert await is_found(api, f"search={quote(search)}") is is_in


async def test_search_finds_a_reference_in_either_case_whole_or_in_part(
    api: Client, service: Service, merchant: Merchant
) -> None:
    wanted = await place(service, merchant, at=DAY)
    await place(service, merchant, at=DAY + timedelta(days=400))

    for search in (wanted.reference, wanted.reference.lower(), wanted.reference[2:-2], wanted.reference[4:-3].lower()):
        assert await found(api, f"search={search}") == [wanted.id], search


async def test_an_unencoded_plus_of_a_phone_number_is_understood(
    running: Running, service: Service, merchant: Merchant
) -> None:
    await place(service, merchant, at=DAY, phone="+255754123456")
    target = "/v1/payments?search=+255754123456"

    answer = exchange(running.url, request("GET", target, key=merchant.key))

    assert answer.status == 200
    assert answer.json["pagination"]["total"] == 1


@pytest.mark.parametrize(
    "search", ["%", "_", "A%a", "A_ha", "\\", "A\\sha", "*", ".", "A.ha", "^A", "[A]", "'", '"', "--"]
)
async def test_search_has_no_wildcards(api: Client, service: Service, merchant: Merchant, search: str) -> None:
    await place(service, merchant, at=DAY, name="Asha")
    marked = await place(service, merchant, at=DAY, name=f"Duka {search} Moja")

    assert await found(api, f"search={quote(search)}") == [marked.id]


@pytest.mark.parametrize("search", ["", "%20", "++"])
async def test_an_empty_search_finds_everything(api: Client, service: Service, merchant: Merchant, search: str) -> None:
    await place(service, merchant, at=DAY)

    assert await is_found(api, f"search={search}")


@pytest.mark.parametrize("search", ["Élise", "élise", "ÉLISE", "ÑANDÚ", "ñandú"])
async def test_search_finds_names_beyond_ascii_in_either_case(
    api: Client, service: Service, merchant: Merchant, search: str
) -> None:
    await place(service, merchant, at=DAY, name="Élise Ñandú")

    assert await is_found(api, f"search={quote(search)}")


async def test_search_does_not_look_into_descriptions_or_metadata(api: Client) -> None:
    await created(api, COLLECTION | {"description": "needle", "metadata": {"needle": "needle"}})

    assert not await is_found(api, "search=needle")


async def test_a_search_of_255_characters_is_taken_and_a_longer_one_refused(api: Client) -> None:
    assert await found(api, f"search={'x' * 255}") == []
    assert list(await wrong(api, f"search={'x' * 256}")) == ["search"]
