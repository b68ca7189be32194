"""Roles of a merchant's people, and what each role may do (its rights). Pure.

The roles of operators of the service are others: `operators/roles.py`.
"""

from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"  # everything, keys and people included
    STAFF = "staff"  # payments and webhooks
    VIEWER = "viewer"  # reads, and changes nothing


class Right(StrEnum):
    """A right that a route or a page needs. Templates name it by its value."""

    READ = "read"
    OPERATE = "operate"  # payments and webhooks
    APPROVE = "approve"  # batches of payouts that somebody else made; staff may if an owner allows it
    ADMINISTER = "administer"  # API keys and people


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.STAFF: frozenset({Right.READ, Right.OPERATE}),
    Role.VIEWER: frozenset({Right.READ}),
}
