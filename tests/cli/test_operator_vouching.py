"""At the command line: one operator does not become two by making another."""

import json
import re
from pathlib import Path

from malipo import clock
from malipo.audit_log.actor import operator_at
from malipo.db import Database
from malipo.operators import four_eyes
from tests.cli.test_operator_session import PASSWORD, Person
from tests.cli.test_operator_session import asha as asha
from tests.cli.test_operator_session import juma as juma
from tests.cli.test_operator_session import two_operators as two_operators
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.journeys.operator_commands import malipo_unseen
from tests.operators.booking_steps import give_password, hire


async def test_an_operator_who_logs_in_as_one_they_made_does_not_count_as_two_until_another_vouches(
    database: Database, database_url: str, merchant: Merchant, asha: Person, juma: Person, tmp_path: Path
) -> None:
    before, _ = await database_facts.wallet(database, merchant.id)
    asha.log_in("asha")
    assert asha("operators", "add", "neema").returncode == 0
    given = asha("operators", "password", "neema", "--stdin", typed=f"{PASSWORD}8\n")
    assert (given.returncode, "malipo operators vouch neema" in given.stdout) == (0, True)
    assert asha("wallet", "top-up", "Duka", "2500000", "--reference", "NMB-1").returncode == 0
    neema = Person(database_url, tmp_path / "neema")
    assert neema.log_in("neema", f"{PASSWORD}8").returncode == 0
    refused = neema("wallet", "approve", "NMB-1", "--here")
    assert (refused.returncode, "Until a third operator vouches for it" in refused.stderr) == (2, True)
    own = asha("operators", "vouch", "neema", "--here")
    assert (own.returncode, "A third operator must vouch" in own.stderr) == (2, True)
    assert (await database_facts.wallet(database, merchant.id))[0] == before

    juma.log_in("juma")
    pages = juma("operators", "vouch", "neema")
    assert (pages.returncode, "--here" in pages.stderr) == (2, True)
    listed = json.loads(juma("operators", "list", "--json").stdout)
    assert [each["name"] for each in listed if each["second operator from"]] == ["neema"]
    assert juma("operators", "vouch", "neema", "--here").returncode == 0
    assert neema("wallet", "approve", "NMB-1", "--here").returncode == 0
    assert (await database_facts.wallet(database, merchant.id))[0] == before + 2_500_000


async def test_an_operator_who_makes_two_operators_one_by_the_other_does_not_count_as_two(
    database: Database, database_url: str, merchant: Merchant, asha: Person, tmp_path: Path
) -> None:
    """asha adds neema, as neema adds baraka, and as asha vouches for baraka."""
    before, _ = await database_facts.wallet(database, merchant.id)
    asha.log_in("asha")
    neema, baraka = (Person(database_url, tmp_path / name) for name in ("neema", "baraka"))
    for by, person, name in ((asha, neema, "neema"), (neema, baraka, "baraka")):
        assert by("operators", "add", name).returncode == 0
        assert by("operators", "password", name, "--stdin", typed=f"{PASSWORD}8\n").returncode == 0
        assert person.log_in(name, f"{PASSWORD}8").returncode == 0
    for by in (asha, neema):
        refused = by("operators", "vouch", "baraka", "--here")
        assert (refused.returncode, "A third operator must vouch" in refused.stderr) == (2, True)
    assert asha("wallet", "top-up", "Duka", "2500000", "--reference", "NMB-1").returncode == 0
    assert baraka("wallet", "approve", "NMB-1", "--here").returncode == 2
    assert (await database_facts.wallet(database, merchant.id))[0] == before


async def test_who_vouches_is_shown_what_was_reset_and_vouches_for_nothing_else(
    database: Database, database_url: str, two_operators: None
) -> None:
    """juma has seen what rehema did. Then asha sets neema's password again."""
    await hire(database, "neema", "rehema")
    await give_password(database, "neema", by=operator_at("rehema", "test"))
    juma = {"database_url": database_url, "operator": "juma"}
    command = ("operators", "vouch", "neema", "--here")

    shown = await malipo_unseen(*command, **juma)
    assert (shown.code, shown.out, "rehema has set the password" in shown.err) == (2, "", True)
    [code] = re.findall(r"--seen (\w+)", shown.err)
    await give_password(database, "neema", by=operator_at("asha", "test"))
    refused = await malipo_unseen(*command, "--seen", code, **juma)
    assert (refused.code, refused.out) == (2, "")
    for said in ("rehema has set the password", "asha has set the password", "has changed since you saw it"):
        assert said in refused.err
    assert await who_waits(database) == ["neema", "neema"]

    [code] = re.findall(r"--seen (\w+)", refused.err)
    assert (await malipo_unseen(*command, "--seen", code.upper(), **juma)).code == 0
    assert await who_waits(database) == []
    nothing = await malipo_unseen(*command, "--seen", code, **juma)
    assert (nothing.code, "No reset waits for a voucher" in nothing.err) == (2, True)


async def who_waits(database: Database) -> list[str]:
    async with database.read() as connection:
        return [each.name for each in await four_eyes.find_open(connection, now=clock.now())]
