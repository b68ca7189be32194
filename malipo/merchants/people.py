"""The people of a merchant: their names, emails and roles. What a role may do is in `roles.py`. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime

from malipo.merchants.roles import RIGHTS, Right, Role

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Person:
    id: str
    merchant_id: str
    email: str
    name: str
    role: Role
    password_hash: str | None
    created_at: datetime
    may_approve: bool = False  # of staff: an owner has allowed it

    def may(self, right: Right) -> bool:
        if right is Right.APPROVE and self.role is Role.STAFF:
            return self.may_approve
        return right in RIGHTS[self.role]


def email_of(text: str) -> str | None:
    """The spelling in which an email is stored; None if the text is no email."""
    email = text.strip().lower()
    # Characters that are not printable, such as one of no width, would make two emails look the same.
    return email if _EMAIL.fullmatch(email) and email.isprintable() and ".." not in email else None
