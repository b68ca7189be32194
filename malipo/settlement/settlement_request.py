"""Reads the fields of a request for a settlement, with the mistakes in them."""

from datetime import date, datetime

import msgspec

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.errors import Invalid
from malipo.payments import idempotency
from malipo.settlement.settlement import ID_PREFIX
from malipo.validation.fields import Fields

_FIELDS = ("amount", "bankAccountId", "orderReference", "currency")


class SettlementDraft(msgspec.Struct, frozen=True):
    amount: int | None  # None: all that can be settled, less what the schedule keeps
    minimum: int = 0  # of a schedule: less is not settled
    bank_account_id: str | None = None
    order_reference: str | None = None
    scheduled_on: date | None = None


class SettlementRequest(msgspec.Struct, frozen=True):
    """A request for a settlement. If its fields are wrong there is no draft, and `problem` says why."""

    merchant_id: str
    id: str
    draft: SettlementDraft | None
    problem: Invalid | None
    key: str | None  # Idempotency-Key
    request_hash: bytes
    created_by: str
    made_at: datetime
    actor: Actor | None = None  # a person; what API keys do is not in the audit log


def settlement_request_of(
    fields: Fields,
    merchant_id: str,
    *,
    key: str | None,
    largest: int,
    created_by: str,
    now: datetime,
    actor: Actor | None = None,
    is_key_required: bool = False,
) -> SettlementRequest:
    """The request with its id. It keeps its mistakes, because a used idempotency key is answered before any of them. An
    unknown field is a mistake: a misspelt one would settle another amount, or to another account, than was meant."""
    fields.refuse_unknown(*_FIELDS, of="a settlement")
    draft = SettlementDraft(
        amount=fields.optional_amount("amount", least=1, most=largest),
        bank_account_id=fields.text("bankAccountId", most=64, is_line=True) or None,
        order_reference=fields.order_reference(),
    )
    fields.currency()
    key = idempotency.key_in(fields, key, is_required=is_key_required)
    given = {name: fields.raw(name) for name in _FIELDS if fields.raw(name) is not None}
    return SettlementRequest(
        merchant_id=merchant_id,
        id=ids.mint(ID_PREFIX, now),
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key,
        request_hash=idempotency.request_hash(given) if key is not None else b"",
        created_by=created_by,
        made_at=now,
        actor=actor,
    )
