"""E-mail addresses: how one is stored, and whether a message can be sent to it. Pure."""

import re

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
# What needs no quotes and no extension of SMTP: nobody can write a second address, or a header, into one of these.
_MAILABLE = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*"
    r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
)
_LONGEST = 254


def email_of(text: str) -> str | None:
    """The spelling in which an email is stored; None if the text is no email."""
    email = text.strip().lower()
    # Characters that are not printable, such as one of no width, would make two emails look the same.
    return email if _EMAIL.fullmatch(email) and email.isprintable() and ".." not in email else None


def is_mailable(email: str) -> bool:
    """Whether a message can be sent to an email, as it is stored. People may log in with others."""
    return len(email) <= _LONGEST and _MAILABLE.fullmatch(email) is not None
