"""The owner of an account: a merchant's person or an operator, with the address of the current request. Pure."""

from dataclasses import dataclass

from malipo.audit_log.actor import Actor


@dataclass(frozen=True, slots=True)
class AccountOwner:
    id: str  # of a person or an operator; the two kinds never share an id
    name: str  # that the authenticator app shows
    actor: Actor  # for the audit log
    merchant_id: str | None = None
