"""The limits of operators are those of the service: a command whose environment names others evades nothing."""

from datetime import date
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.approvals import operator_limits
from malipo.approvals.store import OperatorLimits
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank.import_statement import write_all_coverage
from malipo.bank_evidence.store import holidays
from malipo.db import Database
from malipo.settings import Settings
from tests.cli.test_operator_session import PASSWORD
from tests.cli.test_operator_session import Terminal as OwnTerminal
from tests.cli.test_operator_session import two_operators as two_operators
from tests.cli.test_wallet_command import LARGE, Terminal
from tests.cli.test_wallet_command import terminal as terminal

SERVICE = Actor("malipo", "service")


async def begin(database: Database, **settings: Any) -> bool:
    """The service begins with these settings."""
    async with database.begin() as tx:
        return await operator_limits.note(tx, Settings(**settings), actor=SERVICE, now=clock.now())


@pytest.mark.parametrize(
    ("own", "noted", "expected"),
    [
        ((1000, "optional"), None, (1000, "optional")),
        ((1000, "required"), (500, "required"), (500, "required")),
        ((1000, "optional"), (5000, "required"), (1000, "required")),
        ((10**15, "optional"), (0, "optional"), (0, "optional")),
        ((0, "required"), (10**15, "optional"), (0, "required")),
    ],
)
def test_the_stricter_of_both_counts(
    own: tuple[int, str], noted: tuple[int, str] | None, expected: tuple[int, str]
) -> None:
    settings = Settings(booking_approval_amount=own[0], operator_second_factor=own[1])
    kept = None if noted is None else OperatorLimits(booking_approval_amount=noted[0], second_factor=noted[1])
    found = operator_limits.stricter(settings, kept)
    assert (found.booking_approval_amount, found.operator_second_factor) == expected


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("noted", [True, False])
async def test_a_command_credits_by_itself_only_where_the_service_does(
    database: Database, own: bool, noted: bool
) -> None:
    """It is so unless it is set: a command whose environment lacks it must not credit."""
    await begin(database, credit_by_itself=noted)
    async with database.read() as connection:
        found = await operator_limits.with_limits(connection, Settings(credit_by_itself=own))
    assert found.credit_by_itself is (own and noted)


async def test_a_command_with_a_lying_environment_moves_no_more_alone(database: Database, terminal: Terminal) -> None:
    await begin(database)
    lie = {"booking_approval_amount": 10**12}
    top_up = await terminal.json_of("wallet", "top-up", "Duka", LARGE, "--reference", "NMB 7", by="asha", **lie)
    transfer = ("floats", "transfer", "MPESA", LARGE, "--to-bank", "--reference", "NMB 8")
    moved = await terminal.json_of(*transfer, by="asha", **lie)
    assert (top_up["isProposed"], top_up["available"], moved["isProposed"]) == (True, 0, True)
    strict = await terminal.json_of(
        "wallet", "top-up", "Duka", "5", "--reference", "NMB 9", by="asha", booking_approval_amount=0
    )
    assert strict["isProposed"], "a command may be stricter"


@pytest.mark.usefixtures("two_operators")
async def test_nobody_logs_in_without_a_code_because_their_environment_says_so(
    database: Database, database_url: str
) -> None:
    asha = OwnTerminal(database_url, MALIPO_OPERATOR_SECOND_FACTOR="optional")
    login = ("operators", "login", "asha", "--stdin")
    assert asha(*login, typed=f"{PASSWORD}\n").returncode == 0
    await begin(database)
    refused = asha(*login, typed=f"{PASSWORD}\n")
    assert (refused.returncode, "second" in refused.stderr) == (2, True)


async def test_the_service_notes_its_limits_and_the_audit_log_keeps_a_change(
    service: Service, database: Database
) -> None:
    await service.health.monitor.look()
    schema = service.health.monitor.schema
    await operator_limits.note_at_start(database, service.settings, schema, write_all_coverage, clock=service.clock)
    async with database.read() as connection:
        settings = await operator_limits.with_limits(connection, Settings(booking_approval_amount=10**15))
    assert settings.booking_approval_amount == service.settings.booking_approval_amount

    own: dict[str, Any] = {"operator_second_factor": service.settings.operator_second_factor}
    amount = service.settings.booking_approval_amount
    assert not await begin(database, booking_approval_amount=amount, **own), "a restart changes nothing"
    assert await begin(database, booking_approval_amount=amount + 1, **own)
    async with database.read() as connection:
        [kept] = [
            each for each in await audit_log.find(connection, limit=50) if each.action == "operator.limits_changed"
        ]
    assert (kept.details["amount_before"], kept.details["amount"]) == (amount, amount + 1)
    own["bank_holidays"] = (date(2030, 10, 30),)
    assert await begin(database, booking_approval_amount=amount + 1, **own)
    async with database.read() as connection:
        kept = (await audit_log.find(connection, limit=50))[0]
        calendar = await holidays.find_banking_days(connection)
    assert (kept.details["bank_holidays_before"], kept.details["bank_holidays"]) == ([], ["2030-10-30"])
    assert calendar.next(date(2030, 10, 30)) == date(2030, 10, 31)
