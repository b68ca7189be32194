"""Statements as an operator sends them: small files of the simplest layout, and the steps through the pages."""

import io
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import aiohttp

from tests.dashboard.operator.operator_pages import Operator
from tests.dashboard.page_client import Seen

ZONE = ZoneInfo("Africa/Dar_es_Salaam")
START = datetime(2026, 11, 1, tzinfo=ZONE)
NEW = "/operator/statements/new"


def an_account() -> str:
    """The database is shared: each test has an account of its own."""
    return f"Till {secrets.token_hex(4)}"


def generic(
    entries: Sequence[tuple[str, int]], *, opening: int = 0, closing: int | None = None, first: int = 0, hours: int = 0
) -> bytes:
    """A file that covers the hours of its lines, one for each."""
    begins = START + timedelta(hours=first)
    ends = begins + timedelta(hours=hours or len(entries))
    balance = opening
    rows = []
    for number, (receipt, amount) in enumerate(entries):
        balance += amount
        rows.append(f"{receipt},{begins + timedelta(hours=number):%Y-%m-%d %H:%M},{amount},{balance}")
    head = [
        f"opening balance,{opening}",
        f"closing balance,{balance if closing is None else closing}",
        f"from,{begins:%Y-%m-%d %H:%M}",
        f"to,{ends:%Y-%m-%d %H:%M}",
        "receipt,time,amount,balance",
    ]
    return "\n".join([*head, *rows, ""]).encode()


async def send(
    operator: Operator,
    content: bytes,
    *,
    account: str = "",
    name: str = "taarifa.csv",
    channel: str = "TIGO_PESA",
    token: str | None = None,
    to: str = NEW,
    **more: str,
) -> Seen:
    """As the form sends it: the fields first, then the file. A line is of one account, so its receipt names that."""
    surfer = operator.surfer
    content = re.sub(rb"^([A-Z]\w*),(?=20)", rb"\1-" + account[5:].encode() + b",", content, flags=re.MULTILINE)
    form = aiohttp.FormData(quote_fields=False)  # A browser sends names as they are.
    form.add_field("token", surfer.token if token is None else token)
    form.add_field("channel", channel)
    form.add_field("account", account)
    form.add_field("profile", "")
    for field, value in more.items():
        form.add_field(field, value)
    form.add_field("file", io.BytesIO(content), filename=name, content_type="text/csv")
    sent = surfer.headers | {"Origin": surfer.url, "Sec-Fetch-Site": "same-origin"}
    async with surfer.http.post(surfer.url + to, data=form, headers=sent, allow_redirects=False) as answer:
        return Seen(answer.status, await answer.text(), answer.headers)


async def sent(operator: Operator, content: bytes, **more: str) -> str:
    """The page that shows how the file is read."""
    seen = await send(operator, content, **more)
    assert seen.status == 303, seen.words
    return seen.to


async def import_from(operator: Operator, page: str, **fields: str) -> Seen:
    """As the first statement of its account, unless said otherwise."""
    return await operator.surfer.post(f"{page}/import", {"new_account": "yes"} | fields)
