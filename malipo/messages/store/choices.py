"""The SQL of what people and operators have chosen about messages, and of who was an owner."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.messages.kinds import MessageKind


class Choice(NamedTuple):
    is_wanted: bool
    amount: int | None = None  # of wallet_low


async def find(connection: Conn, account_id: str) -> dict[MessageKind, Choice]:
    """What an account has chosen. Kinds of a newer version are left out."""
    rows = await connection.fetch(
        "SELECT kind, is_wanted, amount FROM message_choices WHERE account_id = $1", account_id
    )
    known = set(MessageKind)
    return {MessageKind(row["kind"]): Choice(row["is_wanted"], row["amount"]) for row in rows if row["kind"] in known}


async def write(tx: Tx, account_id: str, choices: Mapping[MessageKind, Choice]) -> None:
    """Store choices. After a change of its amount a low wallet is reported again."""
    await tx.execute(
        """
        INSERT INTO message_choices AS c (account_id, kind, is_wanted, amount)
        SELECT $1, kind, is_wanted, amount FROM unnest($2::text[], $3::boolean[], $4::bigint[])
               AS new (kind, is_wanted, amount)
        ORDER BY kind
        ON CONFLICT (account_id, kind) DO UPDATE SET
            is_wanted = excluded.is_wanted, amount = excluded.amount,
            is_below = c.is_below AND excluded.is_wanted AND c.amount IS NOT DISTINCT FROM excluded.amount
        """,
        account_id,
        list(choices),
        [each.is_wanted for each in choices.values()],
        [each.amount for each in choices.values()],
    )


async def forget(tx: Tx, account_id: str) -> None:
    await tx.execute("DELETE FROM message_choices WHERE account_id = $1", account_id)


async def note_former_owner(tx: Tx, person_id: str, *, now: datetime) -> None:
    """Store that a person is an owner until now. Called before the person is removed or gets another role."""
    await tx.execute(
        """
        INSERT INTO former_owners (merchant_id, account_id, email, name, language, until)
        SELECT merchant_id, id, email, name, language, $2 FROM people WHERE id = $1 AND role = 'owner'
        ON CONFLICT (merchant_id, account_id) DO UPDATE SET until = excluded.until
        """,
        person_id,
        now,
    )


async def language_of(connection: Conn, account_id: str) -> str | None:
    """The language of an account's messages; None: that of the installation."""
    sql = """
        SELECT language FROM people WHERE id = $1 UNION ALL SELECT language FROM operators WHERE id = $1
    """
    found: str | None = await connection.fetchval(sql, account_id)
    return found


async def set_language(tx: Tx, account_id: str, language: str | None) -> None:
    """Set the language of a person's or an operator's messages."""
    await tx.execute("UPDATE people SET language = $2 WHERE id = $1", account_id, language)
    await tx.execute("UPDATE operators SET language = $2 WHERE id = $1", account_id, language)
