"""Sends the messages that are due: each at least once, and always with the same Message-ID.

A message is claimed and committed before it is sent, and what came of it is committed afterwards. A worker that dies in
between leaves a claim that ends; then the message is sent again, since nobody knows whether it has arrived.
"""

import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo import log
from malipo.clock import Clock
from malipo.db import Database
from malipo.email_address import is_mailable
from malipo.http.accept_language import Language
from malipo.mail.envelope import email_of
from malipo.mail.letter import Letter, LetterLink, letter_of
from malipo.mail.smtp import MailConnection, Outcome, ServerAway, SmtpAttempt
from malipo.merchants import bank_account_stop_links, password_links
from malipo.messages.kinds import KINDS, PASSWORD_LINK_KINDS, LinkTo, MessageKind
from malipo.messages.message import Message
from malipo.messages.store import messages
from malipo.metrics.process_metrics import Metrics
from malipo.settings import Settings
from malipo.settings.mail import MailSender, MailServer

MOST = 20
# A claim. All messages of one are sent one after the other.
LEASE = timedelta(minutes=10)
# No message is begun when so little of the claim is left: no other worker may send it at the same time.
_RESERVE = timedelta(minutes=3)
# After which time a server that was away is tried again.
AWAY = timedelta(seconds=60)

# What makes the link of a message, and the page that it opens.
_LINKS = {
    LinkTo.PASSWORD: (password_links.link_of_message, "/dashboard/password"),
    LinkTo.STOP: (bank_account_stop_links.link_of_message, "/dashboard/stop"),
}


class Post(NamedTuple):
    """The settings of messages: the mail server, the sender, and where the pages are."""

    server: MailServer
    sender: MailSender
    public_url: str
    language: Language
    retry_seconds: Sequence[int]

    @property
    def service(self) -> str:
        return self.sender.name or self.sender.domain


def post_of(settings: Settings) -> Post | None:
    """None without a mail server: then no message is sent."""
    if settings.smtp_url is None or settings.mail_sender is None or settings.public_url is None:
        return None
    return Post(
        settings.smtp_url,
        settings.mail_sender,
        settings.public_url,
        Language(settings.mail_language),
        settings.mail_retry_seconds,
    )


class SendMessages:
    def __init__(
        self, database: Database, post: Post, metrics: Metrics, clock: Clock, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self._database = database
        self._post = post
        self._metrics = metrics
        self._clock = clock
        self._tls = tls

    async def __call__(self) -> bool:
        """Send messages that are due. Returns whether more may be waiting."""
        now = self._clock()
        async with self._database.begin() as tx:
            await messages.expire(tx, now=now, most=1000)
        claimed_until = now + LEASE
        async with self._database.begin() as tx:
            claimed = await messages.claim(tx, domain=self._post.sender.domain, most=MOST, now=now, until=claimed_until)
        waiting = list(claimed)
        while waiting:
            is_answered = await self._send_in_a_connection(waiting, claimed_until)
            if not is_answered:
                return False
        return len(claimed) == MOST

    async def _send_in_a_connection(self, waiting: list[Message], until: datetime) -> bool:
        """Send messages over one connection, and take them off the list. Returns False if the server is away."""
        try:
            connection = await MailConnection.open(self._post.server, domain=self._post.sender.domain, tls=self._tls)
        except ServerAway as error:
            await self._put_back(waiting, str(error))
            return False
        try:
            count = len(waiting)
            while waiting and connection.is_open:
                if self._clock() > until - _RESERVE:
                    await self._put_back(waiting, "", after=timedelta(0))
                    return False
                attempt = await self._send(connection, waiting[0])
                if attempt is not None and attempt.outcome is Outcome.AWAY:
                    await self._put_back(waiting, attempt.reply)
                    return False
                del waiting[0]
            if len(waiting) == count:
                await self._put_back(waiting, "The server has ended the connection.")
                return False
        finally:
            await connection.close()
        return True

    async def _send(self, connection: MailConnection, message: Message) -> SmtpAttempt | None:
        """Send one message and record what came of it. None: it is not sent any more."""
        address = message.recipient.address
        if not is_mailable(address.lower()):
            return await self._record(message, SmtpAttempt(Outcome.REFUSED, "No message can be sent to this address."))
        try:
            letter = await self._letter(message)
            if letter is None:
                async with self._database.begin() as tx:
                    await messages.end(tx, message.id, "dropped", now=self._clock(), reply=None)
                return None
            email = email_of(
                letter,
                sender=self._post.sender,
                address=address,
                name="" if message.kind in PASSWORD_LINK_KINDS else " ".join(message.recipient.name.split()),
                message_id=message.message_id,
                sent_at=self._clock(),
            )
        except (KeyError, ValueError, TypeError) as error:
            # One message that cannot be written, by a bug, must not stop the others.
            log.error("message.unwritable", error, message=message.id, kind=message.kind)
            return await self._record(message, SmtpAttempt(Outcome.LATER, "It could not be written: see the log."))
        attempt = await connection.send(email, sender=self._post.sender.address, recipient=address)
        return await self._record(message, attempt)

    async def _letter(self, message: Message) -> Letter | None:
        language = Language(message.recipient.language) if message.recipient.language else self._post.language
        link = None
        link_to = KINDS[MessageKind(message.kind)].link
        if link_to is not None:
            make, page = _LINKS[link_to]
            async with self._database.begin() as tx:
                made = await make(tx, message, now=self._clock())
            if made is None:
                return None
            link = LetterLink(f"{self._post.public_url}{page}?token={made[0]}", made[1])
        return letter_of(message, language, service=self._post.service, public_url=self._post.public_url, link=link)

    async def _record(self, message: Message, attempt: SmtpAttempt) -> SmtpAttempt:
        now = self._clock()
        if attempt.outcome is Outcome.AWAY:
            return attempt
        async with self._database.begin() as tx:
            match attempt.outcome:
                case Outcome.ACCEPTED:
                    await messages.end(tx, message.id, "sent", now=now, reply=attempt.reply)
                case Outcome.REFUSED:
                    await messages.end(tx, message.id, "refused", now=now, reply=attempt.reply)
                case _:
                    due_at = now + timedelta(seconds=delay_after(message.attempts, self._post.retry_seconds))
                    await messages.postpone(tx, [message.id], due_at=due_at, reply=attempt.reply, is_attempt=True)
        self._metrics.count_message(attempt.outcome)
        # Never the address.
        log.info("message.attempted", message=message.id, kind=message.kind, outcome=attempt.outcome)
        return attempt

    async def _put_back(self, waiting: Sequence[Message], reply: str, *, after: timedelta = AWAY) -> None:
        """Leave messages to the next attempt: there was no answer about them."""
        if reply:
            log.warning("message.server_away", reason=reply, messages=len(waiting))
            self._metrics.count_message(Outcome.AWAY)
        async with self._database.begin() as tx:
            due_at = self._clock() + after
            await messages.postpone(tx, [each.id for each in waiting], due_at=due_at, reply=reply, is_attempt=False)


def delay_after(attempts: int, retry_seconds: Sequence[int]) -> int:
    """The delay after so many earlier refusals; the last one repeats until the message is out of date. Pure."""
    return retry_seconds[min(attempts, len(retry_seconds) - 1)]
