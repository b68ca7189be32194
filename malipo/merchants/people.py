"""The people of a merchant: who they are, what their role lets them do, what a password must be. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_LEAST_PASSWORD = 10
_MOST_PASSWORD = 200


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


def problem_with_password(password: str, email: str) -> str | None:
    """What is wrong with a new password, in words; None if nothing is. Length is what makes it strong."""
    if not _LEAST_PASSWORD <= len(password) <= _MOST_PASSWORD:
        return f"must be {_LEAST_PASSWORD} to {_MOST_PASSWORD} characters"
    if len(set(password)) < 4 or password.lower() in email or email in password.lower():
        return "is too easy to guess"
    return None
