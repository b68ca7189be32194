"""The people of a merchant: their names, emails and roles. What a role may do is in `roles.py`. Pure."""

from dataclasses import dataclass
from datetime import datetime

from malipo.merchants.roles import RIGHTS, Right, Role


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
