"""Reading commands need SELECT and no more, and a standby is enough; writing ones need no more than rows."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from malipo.db import Database
from malipo.db.migrate import migrate
from tests.cli.database_roles import READING, url_of_role
from tests.conftest import Merchant, make_merchant
from tests.journeys import database_facts
from tests.journeys.full_stack import full_stack_started, until
from tests.journeys.operator_commands import malipo
from tests.journeys.postgres_cluster import a_cluster, a_standby

WRITING = [
    ("operators", "add", "asha"),
    ("merchant", "create", "Duka la Pili"),
    ("merchant", "deactivate", "Duka la Pili"),
    ("merchant", "activate", "Duka la Pili"),
    ("merchant", "add-person", "Duka la Pili", "juma@example.com"),
    ("merchant", "password-link", "juma@example.com"),
    ("key", "create", "Duka la Pili"),
    ("tariff", "set", "Duka la Pili", "--type", "COLLECTION", "--band", "500:0:150:20"),
    ("secrets", "rotate"),
]
OF_AN_OPERATOR = [
    ("wallet", "top-up", "Duka la Pili", "1000", "--reference", "NMB-1"),
    ("wallet", "settle", "Duka la Pili", "100", "--reference", "NMB-2"),
    ("hold", "--reason", "Looking into it"),
    ("hold", "--release"),
    ("restore", "fence", "--reason", "The backup of Monday"),
]


async def _assert_all_read(url: str) -> None:
    commands = [(*name.split(), *more) for name, more in READING.items()]
    said = await asyncio.gather(*(malipo(*each, database_url=url) for each in commands))
    assert [(each, one.err) for each, one in zip(commands, said, strict=True) if one.code] == []


@pytest.mark.usefixtures("merchant")
async def test_every_reading_command_works_for_a_role_that_may_only_select_on_a_read_only_database(
    database_url: str,
) -> None:
    url = await url_of_role(database_url, "reader", read_only=True)
    connection = await asyncpg.connect(url)
    with pytest.raises(asyncpg.PostgresError):
        await connection.execute("UPDATE wallets SET available = 0")
    await connection.close()

    await _assert_all_read(url)


async def test_a_payment_is_shown_to_a_role_that_may_only_select(database: Database, database_url: str) -> None:
    url = await url_of_role(database_url, "reader", read_only=True)
    said = await malipo("payments", "show", "MLP-NOSUCHPAYMENT", database_url=url)
    assert (said.code, "Traceback" in said.err) == (2, False), said.err
    assert (await malipo("operators", "whoami", database_url=url)).code == 1, "nobody is logged in"


async def test_a_role_without_write_rights_is_refused_in_one_sentence(database_url: str) -> None:
    for read_only, sentence in (
        (False, "malipo: The role of MALIPO_DATABASE_URL may not do this: permission denied for table "),
        (True, "malipo: The database is read-only, as a standby is: give this command on the primary."),
    ):
        url = await url_of_role(database_url, "app" if read_only else "reader", read_only=read_only)
        said = await malipo("merchant", "create", "Duka", database_url=url)
        assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
        assert said.err.startswith(sentence)


async def test_every_writing_command_works_for_a_role_that_may_only_write_rows(database_url: str) -> None:
    url = await url_of_role(database_url, "app")
    connection = await asyncpg.connect(url)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("CREATE TABLE more (number integer)")
    await connection.close()

    for command in WRITING:
        said = await malipo(*command, database_url=url, secret_key="a-secret-that-is-long-enough-for-tests")
        assert said.code == 0, (command, said.err)
    for command in OF_AN_OPERATOR:
        said = await malipo(*command, database_url=url, operator="asha")
        assert said.code == 0, (command, said.err)


async def test_api_and_worker_need_no_more_than_rows(database_url: str, tmp_path: Path) -> None:
    url = await url_of_role(database_url, "app")
    async with full_stack_started(tmp_path, url) as full_stack:
        worker = full_stack.start("worker")
        id_ = await full_stack.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684001001")

        async def is_paid() -> bool:
            return bool((await full_stack.shown(id_))["status"] == "COMPLETED")

        await until(is_paid, what="the payout")
        await database_facts.assert_clean(full_stack.database)
        assert "permission denied" not in worker.log.read_text()


@pytest.mark.slow
async def test_every_reading_command_works_on_a_real_standby() -> None:
    with a_cluster() as primary:
        async with Database.opened(primary.url, size=2) as database:
            await migrate(database)
            merchant: Merchant = await make_merchant(database, wallet=1000)
        with a_standby(primary, name="standby") as standby:

            async def has_followed() -> bool:
                return standby.ask(f"SELECT count(*) FROM merchants WHERE id = '{merchant.id}'") == "1"

            await until(has_followed, what="the merchant on the standby")
            await _assert_all_read(standby.url)
            said = await malipo("merchant", "create", "Duka la Pili", database_url=standby.url)
            assert (said.code, said.err) == (
                1,
                "malipo: The database is read-only, as a standby is: give this command on the primary.\n",
            )
