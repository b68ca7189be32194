"""A real mail server in the test's process: it keeps what it accepts, and refuses or disconnects as a test has set it."""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from threading import Event
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from malipo.settings.mail import MailServer
from tests.conftest import PATIENCE_SECONDS, free_port

CUT = "cut"  # the connection ends without an answer
SILENT = "silent"  # no answer, and the connection stays


class Inbox:
    """The server's handler. `answers`: by stage (MAIL, RCPT, DATA), what it says to the next commands instead of 250;
    DATA is asked when the message is there, and is kept before the answer."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.envelopes: list[tuple[str, list[str], bytes]] = []
        self.answers: dict[str, list[str]] = defaultdict(list)
        self.refused_addresses: dict[str, str] = {}
        self.keeps_before_cut = True
        self.were_encrypted: list[bool] = []
        self.has_mail = Event()

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if (answer := self._next("MAIL", server)) is not None:
            return answer
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused_addresses:
            return self.refused_addresses[address]
        if (answer := self._next("RCPT", server)) is not None:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        planned = self.answers["DATA"][:1]
        if not planned or (planned[0] in (CUT, SILENT) and self.keeps_before_cut):
            content = envelope.content
            assert isinstance(content, bytes)
            assert envelope.mail_from is not None
            self.envelopes.append((envelope.mail_from, list(envelope.rcpt_tos), content))
            self.mails.append(read(content))
            self.were_encrypted.append(session.ssl is not None)
            self.has_mail.set()
        if planned == [SILENT]:
            self.answers["DATA"].pop(0)
            await asyncio.sleep(PATIENCE_SECONDS)
        return self._next("DATA", server) or "250 kept"

    def _next(self, stage: str, server: SMTP) -> str | None:
        if not self.answers[stage]:
            return None
        answer = self.answers[stage].pop(0)
        if answer == CUT:
            assert isinstance(server.transport, asyncio.WriteTransport)
            server.transport.abort()
            return "250 nobody reads this"
        return answer

    @property
    def message_ids(self) -> list[str]:
        return [str(each["Message-ID"]) for each in self.mails]


def read(content: bytes) -> EmailMessage:
    email = message_from_bytes(content, policy=default)
    assert isinstance(email, EmailMessage)
    return email


def text_of(mail: EmailMessage) -> str:
    """The plain text, as a mail program shows it."""
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


class _Controller(Controller):
    def __init__(self, handler: Inbox, port: int, **options: Any) -> None:
        super().__init__(handler, hostname="127.0.0.1", port=port, loop=asyncio.SelectorEventLoop(), **options)


class RunningServer:
    def __init__(self, inbox: Inbox, port: int) -> None:
        self.inbox = inbox
        self.port = port

    def at(self, **options: Any) -> MailServer:
        return MailServer(host="127.0.0.1", port=self.port, **({"needs_starttls": False} | options))


@contextmanager
def mail_server(
    inbox: Inbox | None = None,
    *,
    port: int | None = None,
    tls: ssl.SSLContext | None = None,
    starttls: ssl.SSLContext | None = None,
    password: str | None = None,
) -> Iterator[RunningServer]:
    """`tls`: from the first byte; `starttls`: offered, and required."""
    inbox, port = inbox or Inbox(), port or free_port()
    options: dict[str, Any] = {"ssl_context": tls, "tls_context": starttls, "require_starttls": starttls is not None}
    if password is not None:

        def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
            return AuthResult(success=data.password == password.encode(), handled=False)

        options |= {"authenticator": check, "auth_require_tls": False}
    controller = _Controller(inbox, port, **options)
    controller.start()
    try:
        yield RunningServer(inbox, port)
    finally:
        controller.stop()
