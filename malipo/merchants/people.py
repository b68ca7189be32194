"""The people of a merchant: who they are, what their role lets them do, what a password must be. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class Role(StrEnum):
    OWNER = "owner"  # everything, keys and people included
    STAFF = "staff"  # payments and webhooks
    VIEWER = "viewer"  # looks, and touches nothing


class Right(StrEnum):
    """What a route of the merchant's asks of the person."""

    LOOK = "look"
    WORK = "work"
    RULE = "rule"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.STAFF: frozenset({Right.LOOK, Right.WORK}),
    Role.VIEWER: frozenset({Right.LOOK}),
}


@dataclass(frozen=True, slots=True)
class Person:
    id: str
    merchant_id: str
    email: str
    name: str
    role: Role
    password_hash: str | None
    created_at: datetime

    def may(self, right: Right) -> bool:
        return right in RIGHTS[self.role]


def email_of(text: str) -> str | None:
    """The one spelling of an email that we store; None if it is none."""
    email = text.strip().lower()
    return email if _EMAIL.fullmatch(email) and ".." not in email else None
