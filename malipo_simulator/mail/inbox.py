"""The e-mails that the mail server took, newest first, and what a mail program shows of one. In memory only."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import NamedTuple

MOST = 200


class ReceivedMail(NamedTuple):
    number: int
    at: float
    recipients: Sequence[str]
    content: bytes


@dataclass(frozen=True, slots=True)
class ReadMail:
    """An e-mail as a mail program shows it."""

    sender: str
    to: str
    subject: str
    sent_at: datetime | None
    headers: Sequence[tuple[str, str]]
    text: str
    html: str  # empty if it has none


class Inbox:
    def __init__(self) -> None:
        self._mails: deque[ReceivedMail] = deque(maxlen=MOST)
        self._last = 0

    def add(self, recipients: Sequence[str], content: bytes, *, at: float) -> None:
        self._last += 1
        self._mails.append(ReceivedMail(self._last, at, tuple(recipients), content))

    def newest(self, *, to: str = "") -> list[ReceivedMail]:
        """Those to an address of which this is a part."""
        return [each for each in reversed(self._mails) if any(to in address for address in each.recipients)]

    def find(self, number: int) -> ReceivedMail | None:
        return next((each for each in self._mails if each.number == number), None)

    def clear(self) -> None:
        self._mails.clear()


def read_mail(content: bytes) -> ReadMail:
    """Never fails: an e-mail of a stranger may be anything."""
    mail = message_from_bytes(content, policy=default)
    assert isinstance(mail, EmailMessage)
    date = mail["Date"]
    return ReadMail(
        sender=str(mail["From"] or ""),
        to=str(mail["To"] or ""),
        subject=str(mail["Subject"] or "(no subject)"),
        sent_at=getattr(date, "datetime", None),
        headers=[(name, str(value)) for name, value in mail.items()],
        text=_part(mail, "plain"),
        html=_part(mail, "html"),
    )


def _part(mail: EmailMessage, subtype: str) -> str:
    body = mail.get_body((subtype,))
    if body is None:
        return ""
    try:
        return str(body.get_content())
    except (LookupError, ValueError):  # a character set that there is not
        return ""
