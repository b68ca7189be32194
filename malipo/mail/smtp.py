"""Hands e-mails to the mail server, and says what its answer means for a message.

Only an answer about the message itself counts for it. A server that cannot be reached, that disconnects, or that
refuses us and not the message (our log-in, our sender) leaves every message as it was.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from malipo.settings.mail import MailServer

if TYPE_CHECKING:
    import aiosmtplib

SECONDS = 30.0  # for each command
_LONGEST_REPLY = 300


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    LATER = "later"  # a temporary refusal of the message: 4xx
    REFUSED = "refused"  # a permanent one: 5xx at the recipient or the text
    LOST = "lost"  # the connection ended before the answer: the server may have the message
    AWAY = "away"  # there was no answer about the message


@dataclass(frozen=True, slots=True)
class SmtpAttempt:
    outcome: Outcome
    reply: str  # what the server said, or why it said nothing


class ServerAway(Exception):  # noqa: N818
    """The mail server cannot be reached, or does not let us in."""


class MailConnection:
    """A connection to the mail server, which sends one e-mail after another."""

    def __init__(self, client: aiosmtplib.SMTP) -> None:
        self._client = client

    @classmethod
    async def open(
        cls, server: MailServer, *, domain: str, seconds: float = SECONDS, tls: ssl.SSLContext | None = None
    ) -> Self:
        """`tls`: whom we trust, if it is not whom this machine trusts."""
        # Loaded with the first message: most processes send none.
        import aiosmtplib

        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            use_tls=server.uses_tls,
            start_tls=server.needs_starttls,
            tls_context=tls or ssl.create_default_context(),
            local_hostname=domain,
            timeout=seconds,
        )
        try:
            await client.connect()
        except (aiosmtplib.SMTPException, OSError, TimeoutError, ValueError) as error:
            client.close()
            raise ServerAway(reply_of(error)) from error
        return cls(client)

    async def send(self, message: EmailMessage, *, sender: str, recipient: str) -> SmtpAttempt:
        import aiosmtplib

        try:
            _, reply = await self._client.sendmail(sender, recipient, message.as_bytes())
        except aiosmtplib.SMTPRecipientsRefused as error:
            return _refusal(error.recipients[0])
        except aiosmtplib.SMTPSenderRefused as error:
            return SmtpAttempt(Outcome.AWAY, reply_of(error))
        except aiosmtplib.SMTPResponseException as error:
            return _refusal(error)
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            self._client.close()
            return SmtpAttempt(Outcome.LOST, reply_of(error))
        return SmtpAttempt(Outcome.ACCEPTED, _short(reply))

    @property
    def is_open(self) -> bool:
        return self._client.is_connected

    async def close(self) -> None:
        import aiosmtplib

        with suppress(aiosmtplib.SMTPException, OSError, TimeoutError, asyncio.CancelledError):
            await self._client.quit(timeout=2.0)
        self._client.close()


def _refusal(error: aiosmtplib.SMTPResponseException) -> SmtpAttempt:
    if error.code == 421:  # The server is about to close the connection: it says nothing about the message.
        return SmtpAttempt(Outcome.LOST, reply_of(error))
    return SmtpAttempt(Outcome.REFUSED if error.code >= 500 else Outcome.LATER, reply_of(error))


def reply_of(error: BaseException) -> str:
    """What an error says, on one line."""
    code = getattr(error, "code", None)
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    return _short(f"{code} {text}" if isinstance(code, int) and code > 0 else text)


def _short(text: str) -> str:
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line[:_LONGEST_REPLY]
