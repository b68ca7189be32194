"""malipo mail: the mail server is tested, and what waits or was refused is listed."""

from malipo import clock
from malipo.db import Database
from malipo.messages.kinds import MessageKind
from malipo.messages.store import messages
from tests.cli.test_wallet_command import Terminal, terminal
from tests.conftest import Merchant, free_port
from tests.mail.mail_server import mail_server, text_of
from tests.mail.mail_steps import add_person, rows, write_message

__all__ = ["terminal"]

_MAIL = {"mail_sender": "Duka Pay <payments@duka.example.com>", "public_url": "https://pay.example.com"}


async def test_a_test_message_is_sent_in_the_language_that_was_named(terminal: Terminal) -> None:
    with mail_server() as server:
        smtp = f"smtp://127.0.0.1:{server.port}"
        said = await terminal("mail", "test", "Asha@example.com", "--language", "sw", smtp_url=smtp, **_MAIL)
        assert (said.code, said.out.startswith("The mail server has taken the message: kept")) == (0, True)
        server.inbox.refused_addresses["x@example.com"] = "550 5.1.1 no such mailbox"
        refused = await terminal("mail", "test", "x@example.com", smtp_url=smtp, **_MAIL)
        assert (refused.code, refused.out) == (1, "Nothing was sent. 550 5.1.1 no such mailbox\n")

    [mail] = server.inbox.mails
    assert (mail["To"], mail["Subject"]) == ("Asha@example.com", "Duka Pay: Ujumbe wa majaribio")
    assert "huduma inaweza kutuma barua pepe" in text_of(mail)


async def test_a_server_that_is_away_is_named(terminal: Terminal) -> None:
    said = await terminal("mail", "test", "a@example.com", smtp_url=f"smtp://127.0.0.1:{free_port()}", **_MAIL)

    assert (said.code, said.out.startswith("Nothing was sent. ")) == (1, True)
    assert (await terminal("mail", "test", "a@example.com")).code == 2, "no mail server is set"
    assert (await terminal("mail", "test", "a,b@example.com", smtp_url="smtp://127.0.0.1", **_MAIL)).code == 2


async def test_the_queue_has_what_waits_and_what_was_refused_today(
    terminal: Terminal, database: Database, merchant: Merchant
) -> None:
    assert (await terminal("mail", "queue")).out == "No message waits, and none was refused.\n"
    neema = await add_person(database, merchant.id, "neema@duka.example.com")
    now = clock.now()
    for _ in range(3):
        await write_message(database, neema, now=now)
    sent, refused, waiting = [row["id"] for row in await rows(database)]
    async with database.begin() as tx:
        await messages.end(tx, sent, "sent", now=now, reply="kept")
        await messages.end(tx, refused, "refused", now=now, reply="550 no\nsuch mailbox")

    listed = await terminal.json_of("mail", "queue")

    assert [(each["id"], each["state"], each["nextAttemptAt"] is None) for each in listed] == [
        (refused, "refused", True),
        (waiting, "waiting", False),
    ]
    assert {(each["kind"], each["to"]) for each in listed} == {(MessageKind.KEY_CREATED, neema.email)}
    assert len((await terminal("mail", "queue")).out.splitlines()) == 3, "a reply is on one line"
