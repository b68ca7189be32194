"""Roles of operators, and what each may do (its rights). Pure.

Pages name the right that they need in `dashboard/operator/routes.py`, commands in `cli/authority.py`. Merchants' people
have roles of their own (`merchants/roles.py`).
"""

from enum import StrEnum

from malipo.errors import Code, Forbidden


class Role(StrEnum):
    """Stored with the operator."""

    MANAGER = "manager"  # everything; large or risky acts take two of these
    SUPPORT = "support"  # reads merchants, payments and deliveries, for those who answer merchants' questions
    AUDITOR = "auditor"  # reads everything, and changes nothing


class Right(StrEnum):
    OWN = "own"  # one's own account: password, second factor, sessions, messages, language
    READ_PAYMENTS = "read_payments"  # merchants, their payments and deliveries
    READ = "read"  # every other page and report
    RESEND = "resend"  # send a webhook again, which changes nothing at its receiver that was not sent before
    ACT = "act"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.MANAGER: frozenset(Right),
    Role.SUPPORT: frozenset({Right.OWN, Right.READ_PAYMENTS, Right.RESEND}),
    Role.AUDITOR: frozenset({Right.OWN, Right.READ_PAYMENTS, Right.READ}),
}


class RoleRefusal(Code):
    INSUFFICIENT = "operator_role_insufficient"


class RoleInsufficient(Forbidden):
    code = RoleRefusal.INSUFFICIENT


def require(role: Role, right: Right) -> None:
    if right not in RIGHTS[role]:
        raise RoleInsufficient
