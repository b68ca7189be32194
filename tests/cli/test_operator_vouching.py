"""At the command line: one operator does not become two by making another."""

import json
from pathlib import Path

from malipo.db import Database
from tests.cli.test_operator_session import PASSWORD, Person
from tests.cli.test_operator_session import asha as asha
from tests.cli.test_operator_session import juma as juma
from tests.cli.test_operator_session import two_operators as two_operators
from tests.conftest import Merchant
from tests.journeys import database_facts


async def test_who_makes_an_operator_and_logs_in_as_them_is_not_two_until_another_vouches(
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
    assert (own.returncode, "Only a third operator" in own.stderr) == (2, True)
    assert (await database_facts.wallet(database, merchant.id))[0] == before

    juma.log_in("juma")
    pages = juma("operators", "vouch", "neema")
    assert (pages.returncode, "--here" in pages.stderr) == (2, True)
    listed = json.loads(juma("operators", "list", "--json").stdout)
    assert [each["name"] for each in listed if each["second operator from"]] == ["neema"]
    assert juma("operators", "vouch", "neema", "--here").returncode == 0
    assert neema("wallet", "approve", "NMB-1", "--here").returncode == 0
    assert (await database_facts.wallet(database, merchant.id))[0] == before + 2_500_000
