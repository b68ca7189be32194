"""Log-ins that wait for a code: the password was right. None of them is a session, and none opens a page.

The browser holds a random token in a cookie; we keep its hash. Five wrong codes end it, and so do ten minutes.
"""

from datetime import datetime, timedelta

from malipo.access.second_factor.store import pending_logins as store
from malipo.access.tokens import hash_of, make_secret
from malipo.db import Conn, Tx
from malipo.errors import Unauthorized

LIFE = timedelta(minutes=10)
_MOST_CODES = 5


class PendingLoginOver(Unauthorized):
    code = "login_over"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("There were too many wrong codes, or it took too long. Log in again.")


async def begin(tx: Tx, account_id: str, *, now: datetime) -> str:
    """The token for the browser's cookie."""
    token = make_secret("mpc_")
    await store.insert(tx, hash_of(token), account_id, now=now, expires_at=now + LIFE)
    return token


async def find(connection: Conn, token: str, *, now: datetime) -> str | None:
    """Whose log-in waits, if it may still try a code."""
    return await store.find(connection, hash_of(token), most=_MOST_CODES, now=now)


async def note_attempt(tx: Tx, token: str, *, now: datetime) -> str:
    """Whose log-in it is. The attempt counts, before the code is checked."""
    account_id = await store.note_attempt(tx, hash_of(token), most=_MOST_CODES, now=now)
    if account_id is None:
        raise PendingLoginOver
    return account_id


async def finish(tx: Tx, token: str) -> None:
    """In the commit that begins the session: it becomes one session, never two."""
    if not await store.delete(tx, hash_of(token)):
        raise PendingLoginOver
