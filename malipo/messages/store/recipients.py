"""The SQL that finds who gets a message, by the audience of its kind and by what each has chosen."""

from datetime import datetime

from malipo.db import Conn, Row
from malipo.messages.kinds import KINDS, OF_LATE, Audience, MessageKind
from malipo.messages.message import MessageRecipient

# People who have never chosen a password have not shown that the address is theirs: they get invitations only.
_OF_PEOPLE = {
    Audience.OWNERS: "p.role = 'owner'",
    Audience.OWNERS_OF_LATE: "p.role = 'owner'",
    Audience.APPROVERS: "(p.role = 'owner' OR (p.role = 'staff' AND p.may_approve))",
    Audience.PAYERS: "p.role IN ('owner', 'staff')",
    Audience.PEOPLE: "true",
}
_IS_WANTED = """
    ($2 OR coalesce((SELECT c.is_wanted FROM message_choices c WHERE c.account_id = {} AND c.kind = $3), $4))
"""


async def find_people(
    connection: Conn, kind: MessageKind, merchant_id: str, *, except_email: str | None, now: datetime
) -> list[MessageRecipient]:
    """The people of a merchant who get this kind, in the order of their ids."""
    rule = KINDS[kind]
    rows = await connection.fetch(
        f"""
        SELECT p.id, p.email, p.name, p.language FROM people p
        WHERE p.merchant_id = $1 AND {_OF_PEOPLE[rule.audience]} AND p.password_hash IS NOT NULL
          AND p.email IS DISTINCT FROM $5 AND {_IS_WANTED.format("p.id")}
        ORDER BY p.id
        """,
        merchant_id,
        rule.is_always,
        kind,
        rule.is_default,
        except_email,
    )
    found = [_recipient(row) for row in rows]
    if rule.audience is not Audience.OWNERS_OF_LATE:
        return found
    known = {each.account_id for each in found}
    former = await connection.fetch(
        """
        SELECT account_id, email, name, language FROM former_owners
        WHERE merchant_id = $1 AND until > $2 ORDER BY account_id
        """,
        merchant_id,
        now - OF_LATE,
    )
    return found + [each for each in map(_recipient, former) if each.account_id not in known]


async def find_operators(connection: Conn, kind: MessageKind, *, except_name: str | None) -> list[MessageRecipient]:
    """The operators with an address who get this kind, in the order of their ids. Those who only read can do nothing
    about it."""
    rule = KINDS[kind]
    rows = await connection.fetch(
        f"""
        SELECT o.id, o.email, o.name, o.language FROM operators o
        WHERE o.email IS NOT NULL AND o.role = 'manager' AND o.name IS DISTINCT FROM $1 AND {_IS_WANTED.format("o.id")}
        ORDER BY o.id
        """,
        except_name,
        rule.is_always,
        kind,
        rule.is_default,
    )
    return [_recipient(row) for row in rows]


async def find_account(connection: Conn, account_id: str) -> tuple[MessageRecipient, str | None] | None:
    """A person with the merchant, or an operator who has an address."""
    row = await connection.fetchrow(
        """
        SELECT id, email, name, language, merchant_id FROM people WHERE id = $1
        UNION ALL SELECT id, email, name, language, NULL FROM operators WHERE id = $1 AND email IS NOT NULL
        """,
        account_id,
    )
    return None if row is None else (_recipient(row), row["merchant_id"])


def _recipient(row: Row) -> MessageRecipient:
    account_id, address, name, language, *_ = row.values()
    return MessageRecipient(account_id, address, name, language)
