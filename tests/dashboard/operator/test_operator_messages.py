"""An operator's messages by e-mail: the address, whose change is reported to the old one, and the choices."""

import pytest

from malipo.db import Database
from malipo.messages.kinds import MessageKind
from malipo.messages.store import choices
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.mail.mail_steps import rows

PATH = "/operator/account"


async def _id_of(database: Database, name: str) -> str:
    async with database.read() as connection:
        return str(await connection.fetchval("SELECT id FROM operators WHERE name = $1", name))


async def test_the_old_address_gets_a_message_about_the_new_one(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    database = operator_pages.service.queries.database
    for email in ("Asha@Malipo.example.com", "asha@malipo.example.com", "asha2@malipo.example.com", ""):
        assert (await asha.surfer.post(f"{PATH}/address", {"email": email})).to == f"{PATH}#messages"

    mine = [row for row in await rows(database) if row["account_id"] == await _id_of(database, asha.name)]
    shown = [row for row in mine if row["kind"] == MessageKind.ADDRESS_CHANGED]
    assert [row["address"] for row in shown] == ["asha@malipo.example.com", "asha2@malipo.example.com"]
    seen = await asha.surfer.get("/operator/audit")
    assert f"Changed the address of the operator {asha.name}" in seen.words


@pytest.mark.parametrize(
    "email", ["nobody", "a b@example.com", "né@example.com", "a@example.com\r\nBcc: x@example.com"]
)
async def test_an_address_to_which_nothing_can_be_sent_is_refused(operator_pages: OperatorPages, email: str) -> None:
    asha = await operator_pages.operator("asha")

    seen = await asha.surfer.post(f"{PATH}/address", {"email": email})

    assert (seen.status, "This is not an email address." in seen.words) == (400, True)


async def test_an_operator_chooses_messages_and_their_language(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    database = operator_pages.service.queries.database
    assert "An act waits for a second operator" in (await asha.surfer.get(PATH)).words

    assert (await asha.surfer.post(f"{PATH}/messages", {"language": "sw"})).status == 303

    operator_id = await _id_of(database, asha.name)
    async with database.read() as connection:
        assert (await choices.find(connection, operator_id))[MessageKind.PROPOSAL_WAITING].is_wanted is False
        assert await choices.language_of(connection, operator_id) == "sw"
