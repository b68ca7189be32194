"""malipo mail …: tests the mail server, and shows the messages that wait or were refused."""

import argparse
import asyncio
import sys
from datetime import datetime, timedelta
from typing import Any

from malipo import clock, ids, log
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database
from malipo.email_address import is_mailable
from malipo.errors import Invalid
from malipo.http.accept_language import Language
from malipo.mail.envelope import email_of
from malipo.mail.letter import test_letter
from malipo.mail.send import Post, post_of
from malipo.mail.smtp import MailConnection, Outcome, ServerAway, SmtpAttempt
from malipo.messages.store import messages
from malipo.settings import Settings

_MOST_SHOWN = 1000
_REFUSED_SINCE = timedelta(days=1)


def add_commands(commands: Any) -> None:
    mail = add_command(commands, "mail")
    acts = mail.add_subparsers(title="acts", metavar="ACT", required=True)
    test = add_subcommand(acts, "test", _test, "send a test message, and print what the mail server answers")
    test.add_argument("address", help="such as you@example.com")
    test.add_argument("--language", choices=list(Language), help="default: MALIPO_MAIL_LANGUAGE")
    add_subcommand(
        acts,
        "queue",
        _queue,
        f"list the messages that wait, and those that were refused within a day: the {_MOST_SHOWN} oldest",
    )


def _test(arguments: argparse.Namespace, settings: Settings) -> int:
    log.configure(level="warning", stream=sys.stderr)
    post, address = post_of(settings), arguments.address.strip()
    if post is None:
        raise Invalid("No mail server is set: it takes MALIPO_SMTP_URL, MALIPO_MAIL_SENDER and MALIPO_PUBLIC_URL.")
    if not is_mailable(address.lower()):
        raise Invalid("No message can be sent to this address.")
    language = Language(arguments.language) if arguments.language else post.language
    attempt = asyncio.run(_send(post, address, language, now=clock.now()))
    is_sent = attempt.outcome is Outcome.ACCEPTED
    sentence = (
        f"The mail server has taken the message: {attempt.reply}\nWhether it arrives, {address} shows."
        if is_sent
        else f"Nothing was sent. {attempt.reply}"
    )
    print_result(arguments, {"address": address, "isSent": is_sent, "reply": attempt.reply}, sentence)
    return 0 if is_sent else 1


async def _send(post: Post, address: str, language: Language, *, now: datetime) -> SmtpAttempt:
    email = email_of(
        test_letter(language, service=post.service),
        sender=post.sender,
        address=address,
        name="",
        message_id=f"{ids.mint('msg_', now)}@{post.sender.domain}",
        sent_at=now,
    )
    try:
        connection = await MailConnection.open(post.server, domain=post.sender.domain)
    except ServerAway as error:
        return SmtpAttempt(Outcome.AWAY, str(error))
    try:
        return await connection.send(email, sender=post.sender.address, recipient=address)
    finally:
        await connection.close()


def _queue(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await messages.find_queue(connection, refused_since=clock.now() - _REFUSED_SINCE, most=_MOST_SHOWN)
        return [
            {
                "id": each.id,
                "kind": each.kind,
                "to": each.address,
                "writtenAt": each.created_at,
                "state": each.state,
                "nextAttemptAt": each.due_at,
                "attempts": each.attempts,
                "reply": each.reply,
            }
            for each in found
        ]

    return print_table(arguments, with_database(settings, act), empty="No message waits, and none was refused.")
