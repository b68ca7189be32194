"""The roles of docs/operating/database-roles.md, made by the SQL of the page; and the commands that only read."""

import re
import secrets
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from malipo.cli.authority import AUTHORITY, Authority

_PAGE = (Path(__file__).parents[2] / "docs/operating/database-roles.md").read_text()
ROLES, RIGHTS, RIGHTS_OF_TABLES = re.findall(r"^```sql\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
[HBA] = re.findall(r"^```\n(# type .*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)

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
    "numbers list": (),
    "mail queue": (),
    "restore status": (),
    "ledger check": (),
    "statements list": (),
    "statements profiles": (),
    "close list": (),
    "books trial-balance": (),
    "books accounts": (),
    "books pending": (),
    "books suspense": (),
    "invoices list": (),
    "books journal": ("--from", "2026-11-01", "--to", "2026-11-02", "--format", "beancount"),
    "log status": (),
    "log keys": (),
    "close key": (),
    "floats list": (),
    "floats pending": (),
    "bank accounts": (),
    "bank balance": (),
    "bank files": (),
    "bank statements": (),
    "bank lines": (),
    "bank exceptions": (),
    "settlements list": (),
    "settlements owing": (),
    "settlements accounts": (),
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
    "books vouchers",
    "bank file",
    "invoices pdf",
    "books safeguarding",
    "log check",
    "log consistency",
    "exceptions show",
    "statements show",
    "operators login",
    "operators logout",
    "operators whoami",
    "networks verify",
    "mail test",
    "listen",
    "trigger",
    "doctor",
}
assert {name for name, authority in AUTHORITY.items() if authority is Authority.NOBODY} == (
    set(READING) - {"migrate --status"} | _OTHERS
)


def statements(text: str, *, roles: str, database: str) -> list[str]:
    """Those of the page, for this database and with roles of the test's own: roles are the whole server's."""
    text = re.sub(r"\bmalipo\b", database, re.sub(r"\bmalipo_(?=owner|app|reader|backup)", f"{roles}_", text))
    return [each.strip() for each in text.split(";") if each.strip()]


async def url_of_role(url: str, role: str, *, read_only: bool = False) -> str:
    """The same database, which was migrated before, for one of the page's roles."""
    prefix, name = f"role_{secrets.token_hex(6)}", urlsplit(url).path.removeprefix("/")
    connection = await asyncpg.connect(url)
    try:
        for each in statements(ROLES + RIGHTS + RIGHTS_OF_TABLES, roles=prefix, database=name):
            if not each.startswith("CREATE DATABASE"):
                await connection.execute(each)
    finally:
        await connection.close()
    return with_options(url, role=f"{prefix}_{role}", **({"default_transaction_read_only": "on"} if read_only else {}))


def with_options(url: str, **options: str) -> str:
    """Every connection begins with these, as with ALTER ROLE … SET."""
    parts = urlsplit(url)
    query = "&".join([*filter(None, [parts.query]), *(f"{name}={value}" for name, value in options.items())])
    return urlunsplit(parts._replace(query=query))
