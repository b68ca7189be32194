"""People of merchants."""

from malipo.db import Conn, Row, Tx
from malipo.merchants.people import Person
from malipo.merchants.roles import Role

_COLUMNS = "id, merchant_id, email, name, role, password_hash, created_at, may_approve"


def person_of(row: Row) -> Person:
    return Person(
        row["id"],
        row["merchant_id"],
        row["email"],
        row["name"],
        Role(row["role"]),
        row["password_hash"],
        row["created_at"],
        row["may_approve"],
    )


async def insert(tx: Tx, person: Person) -> bool:
    """Add a person. Returns whether the email was new."""
    done = await tx.execute(
        f"INSERT INTO people ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (email) DO NOTHING",
        person.id,
        person.merchant_id,
        person.email,
        person.name,
        person.role,
        person.password_hash,
        person.created_at,
        person.may_approve,
    )
    return done == "INSERT 0 1"


async def find_by_email(connection: Conn, email: str) -> Person | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM people WHERE email = $1", email)
    return person_of(row) if row else None


async def find(connection: Conn, person_id: str) -> Person | None:
    """A person of any merchant, by the id."""
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM people WHERE id = $1", person_id)
    return person_of(row) if row else None


async def get(connection: Conn, merchant_id: str, person_id: str) -> Person | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM people WHERE merchant_id = $1 AND id = $2", merchant_id, person_id
    )
    return person_of(row) if row else None


async def find_all(connection: Conn, merchant_id: str) -> list[Person]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM people WHERE merchant_id = $1 ORDER BY id", merchant_id)
    return [person_of(row) for row in rows]


async def lock_all(tx: Tx, merchant_id: str) -> list[Person]:
    """Lock all people of a merchant until the commit, so that roles are changed one at a time."""
    rows = await tx.fetch(f"SELECT {_COLUMNS} FROM people WHERE merchant_id = $1 ORDER BY id FOR UPDATE", merchant_id)
    return [person_of(row) for row in rows]


async def has_any_password(connection: Conn, merchant_id: str) -> bool:
    """Whether anybody of the merchant can log in."""
    sql = "SELECT EXISTS (SELECT FROM people WHERE merchant_id = $1 AND password_hash IS NOT NULL)"
    return bool(await connection.fetchval(sql, merchant_id))


async def lock_password_hash(tx: Tx, person_id: str) -> str | None:
    """Lock and return the password hash until the commit. Locked as for a change, because some callers change it."""
    sql = "SELECT password_hash FROM people WHERE id = $1 FOR NO KEY UPDATE"
    found: str | None = await tx.fetchval(sql, person_id)
    return found


async def lock(tx: Tx, *person_ids: str) -> None:
    """Lock these people until the commit, in the order of `lock_all`, and before anything of theirs."""
    await tx.execute("SELECT FROM people WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", list(person_ids))


async def set_role(tx: Tx, person_id: str, role: Role) -> None:
    """Set the role. An approval right that an owner allowed in the old role ends."""
    await tx.execute("UPDATE people SET role = $2, may_approve = false WHERE id = $1", person_id, role)


async def set_may_approve(tx: Tx, person_id: str, *, may_approve: bool) -> bool:
    """Allow or forbid approving. Returns whether that is a change. Only for staff: owners may, and viewers never."""
    done = await tx.execute(
        "UPDATE people SET may_approve = $2 WHERE id = $1 AND role = 'staff' AND may_approve <> $2",
        person_id,
        may_approve,
    )
    return done == "UPDATE 1"


async def set_password(tx: Tx, person_id: str, password_hash: str) -> None:
    await tx.execute("UPDATE people SET password_hash = $2 WHERE id = $1", person_id, password_hash)


async def delete(tx: Tx, person_id: str) -> None:
    await tx.execute("DELETE FROM people WHERE id = $1", person_id)
