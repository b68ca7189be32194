"""PostgreSQL roles that may only read, or only write rows; and the commands that read."""

import secrets
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from malipo.cli.authority import AUTHORITY, Authority

# What each reading command is given beside its name.
READING: dict[str, tuple[str, ...]] = {
    "merchant list": (),
    "key list": ("Duka",),
    "tariff show": ("Duka",),
    "wallet show": ("Duka",),
    "wallet pending": (),
    "payments unsettled": (),
    "payments unknown-callbacks": (),
    "networks list": (),
    "restore status": (),
    "ledger check": (),
    "statements list": (),
    "statements profiles": (),
    "close list": (),
    "close key": (),
    "floats list": (),
    "floats pending": (),
    "approvals": (),
    "statements charges": (),
    "statements waiting": (),
    "exceptions list": (),
    "operators list": (),
    "audit": (),
    "migrate --status": (),
}
# They have a test of their own, write a session, or read nothing of the database.
_OTHERS = {
    "payments show",
    "close show",
    "close verify",
    "exceptions show",
    "statements show",
    "operators login",
    "operators logout",
    "operators whoami",
    "networks verify",
    "listen",
    "trigger",
    "doctor",
}
assert {name for name, authority in AUTHORITY.items() if authority is Authority.NOBODY} == (
    set(READING) - {"migrate --status"} | _OTHERS
)


async def url_of_role(url: str, *rights: str, read_only: bool = False) -> str:
    """The same database for a new role with these rights on every table. It may create nothing."""
    name = f"role_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            f"CREATE ROLE {name}; GRANT {', '.join(rights)} ON ALL TABLES IN SCHEMA public TO {name}"
        )
    finally:
        await connection.close()
    return with_options(url, role=name, **({"default_transaction_read_only": "on"} if read_only else {}))


def with_options(url: str, **options: str) -> str:
    """Every connection begins with these, as with ALTER ROLE … SET."""
    parts = urlsplit(url)
    query = "&".join([*filter(None, [parts.query]), *(f"{name}={value}" for name, value in options.items())])
    return urlunsplit(parts._replace(query=query))
