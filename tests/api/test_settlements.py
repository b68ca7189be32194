"""/v1/settlements: whose they are, and what is refused."""

from malipo import clock
from malipo.db import Database
from tests.api.conftest import is_refused
from tests.conftest import Client, Merchant
from tests.settlement.settlement_steps import add_account


async def test_a_merchant_reads_their_own_settlements_and_lines_and_no_others(
    api: Client, stranger: Merchant, database: Database, merchant: Merchant
) -> None:
    made = []
    for client, owner in ((api, merchant), (api.as_(stranger.key), stranger)):
        await add_account(database, owner.id, now=clock.now())
        answer = await client("POST", "/v1/settlements", {"amount": 5_000})
        assert answer.status == 201
        made.append(answer.body["settlement"]["id"])

    for client, own, other in ((api, *made), (api.as_(stranger.key), *reversed(made))):
        listed = (await client("GET", "/v1/settlements")).body
        assert ([each["id"] for each in listed["settlements"]], listed["pagination"]["total"]) == ([own], 1)
        report = (await client("GET", f"/v1/settlements/{own}/report")).body
        assert [each["causeId"] for each in report["entries"]][:1] == [own]
        assert [(each["group"], each["count"]) for each in report["report"]["groups"]] == [
            ("TOP_UP", 1),
            ("SETTLEMENT", 1),
        ]
        for method, path in (("GET", ""), ("GET", "/report"), ("POST", "/cancel")):
            assert is_refused(await client(method, f"/v1/settlements/{other}{path}"), 404, "settlement_not_found")


async def test_a_settlement_goes_to_the_account_that_it_names_and_to_nobody_elses(
    api: Client, stranger: Merchant, database: Database, merchant: Merchant
) -> None:
    first = await add_account(database, merchant.id, now=clock.now())
    await add_account(database, merchant.id, now=clock.now(), number="0150000WKYA01")
    theirs = await add_account(database, stranger.id, now=clock.now())

    made = await api("POST", "/v1/settlements", {"amount": 5_000, "bankAccountId": first.id})
    refused = await api("POST", "/v1/settlements", {"amount": 5_000, "bankAccountId": theirs.id})

    assert made.body["settlement"]["bankAccount"]["id"] == first.id
    assert is_refused(refused, 404, "bank_account_not_found")


async def test_a_misspelt_field_is_refused_and_nothing_leaves_the_wallet(
    api: Client, database: Database, merchant: Merchant
) -> None:
    await add_account(database, merchant.id, now=clock.now())

    answer = await api("POST", "/v1/settlements", {"amuont": 5_000})

    assert (answer.status, answer.code) == (400, "field_unknown")
    assert (await api("GET", "/v1/wallet")).body["wallet"]["available"] == 1_000_000
