"""Whose account it is: a merchant's person or an operator, and from where they come now. Pure."""

from dataclasses import dataclass

from malipo.audit_log.actor import Actor


@dataclass(frozen=True, slots=True)
class AccountOwner:
    id: str  # of the person or the operator; the two kinds never have the same
    name: str  # as the authenticator app shows it
    actor: Actor  # as the audit log has them
    merchant_id: str | None = None
