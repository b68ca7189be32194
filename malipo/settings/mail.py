"""The mail server that sends our messages, and the sender that they name. Pure."""

from dataclasses import dataclass, field
from email.utils import parseaddr
from urllib.parse import parse_qsl, unquote, urlsplit

from malipo.email_address import is_mailable
from malipo.settings.parsers import is_on_this_machine

_PORTS = {"smtp": 587, "smtps": 465}
_WORDS = (
    "must be the address of a mail server, such as smtp://user:password@mail.example.com:587 or "
    "smtps://user:password@mail.example.com; characters such as @ in the password are written as %40"
)


@dataclass(frozen=True, slots=True)
class MailServer:
    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    uses_tls: bool = False  # from the first byte (smtps)
    needs_starttls: bool = True  # else nothing is encrypted: on this machine, or with ?starttls=off


@dataclass(frozen=True, slots=True)
class MailSender:
    """Whom messages are from."""

    address: str
    name: str = ""

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2].lower()


def mail_server(value: str) -> MailServer:
    try:
        parts = urlsplit(value)
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise ValueError(_WORDS) from None
    starttls = options.pop("starttls", "required")
    is_known = starttls in ("required", "off") and not options and not parts.fragment and parts.path in ("", "/")
    if not parts.hostname or not is_known or (parts.username is None) != (parts.password is None):
        raise ValueError(_WORDS)
    if any(not each.isprintable() or " " in each for each in value):
        raise ValueError(_WORDS)
    uses_tls = parts.scheme == "smtps"
    is_here = is_on_this_machine(value) and "starttls" not in parts.query
    return MailServer(
        host=parts.hostname,
        port=port,
        user=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        uses_tls=uses_tls,
        needs_starttls=not uses_tls and starttls == "required" and not is_here,
    )


def mail_sender(value: str) -> MailSender:
    name, address = parseaddr(value)
    if not is_mailable(address.lower()) or "." not in address.rpartition("@")[2] or not name.isprintable():
        raise ValueError("must be an address, or a name and an address: Duka Pay <payments@example.com>")
    return MailSender(address, name)
