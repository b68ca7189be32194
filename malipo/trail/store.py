"""The trail's SQL. It only ever grows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from malipo import ids
from malipo.db import Conn, Tx

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder().decode
_OPERATOR = "operator "


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and from where."""

    who: str
    origin: str

    @property
    def is_operator(self) -> bool:
        """One with a name of their own, and not the user of a machine."""
        return self.who.startswith(_OPERATOR)


def operator_at(name: str, origin: str) -> Actor:
    """The one spelling of an operator, at the command line and on the pages."""
    return Actor(_OPERATOR + name, origin)


@dataclass(frozen=True, slots=True)
class Deed:
    id: str
    at: datetime
    who: str
    origin: str
    what: str
    merchant_id: str | None
    details: Mapping[str, Any]


async def note(
    tx: Tx, actor: Actor, what: str, *, now: datetime, merchant_id: str | None = None, **details: object
) -> None:
    """Write a deed down, in the commit that does it. Secrets are never handed to this function."""
    await tx.execute(
        "INSERT INTO audit (id, at, who, origin, what, merchant_id, details) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        ids.mint("aud_", now),
        now,
        actor.who,
        actor.origin,
        what,
        merchant_id,
        _encode(details).decode(),
    )


async def find(connection: Conn, *, merchant_id: str | None = None, limit: int) -> list[Deed]:
    """The latest deeds, newest first."""
    rows = await connection.fetch(
        """
        SELECT id, at, who, origin, what, merchant_id, details FROM audit
        WHERE $1::text IS NULL OR merchant_id = $1 ORDER BY id DESC LIMIT $2
        """,
        merchant_id,
        limit,
    )
    return [
        Deed(row["id"], row["at"], row["who"], row["origin"], row["what"], row["merchant_id"], _decode(row["details"]))
        for row in rows
    ]


async def insert_operator(tx: Tx, operator_id: str, name: str, *, now: datetime) -> bool:
    """Whether the name was new."""
    done = await tx.execute(
        "INSERT INTO operators (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        operator_id,
        name,
        now,
    )
    return done == "INSERT 0 1"


async def is_operator(connection: Conn, name: str) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM operators WHERE name = $1)", name))


async def find_operators(connection: Conn) -> list[tuple[str, datetime]]:
    rows = await connection.fetch("SELECT name, created_at FROM operators ORDER BY name")
    return [(row["name"], row["created_at"]) for row in rows]
