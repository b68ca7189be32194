"""A log-in that waits for its code, after the right password.

It is no session and opens no page. The browser holds a random token in a cookie, and malipo keeps its hash. The fifth
wrong code ends the log-in, and so do ten minutes.
"""

from datetime import datetime, timedelta

from malipo.accounts.store import pending_logins
from malipo.accounts.tokens import hash_of, make_secret
from malipo.db import Conn, Tx
from malipo.errors import Code, Unauthorized

LIFE = timedelta(minutes=10)
_MOST_CODES = 5


class SecondStepRefusal(Code):
    OVER = "login_over"


class PendingLoginOver(Unauthorized):
    code = SecondStepRefusal.OVER
    scheme = "Bearer"


async def begin(tx: Tx, account_id: str, *, now: datetime) -> str:
    """Begin to wait. Returns the token for the browser's cookie."""
    token = make_secret("mpc_")
    await pending_logins.insert_pending_login(tx, hash_of(token), account_id, now=now, expires_at=now + LIFE)
    return token


async def find(connection: Conn, token: str, *, now: datetime) -> str | None:
    """The account of a waiting log-in that may still try a code."""
    return await pending_logins.find_pending_login(connection, hash_of(token), most=_MOST_CODES, now=now)


async def note_attempt(tx: Tx, token: str, *, now: datetime) -> str:
    """Count an attempt before the code is checked, and return the account."""
    account_id = await pending_logins.note_code_attempt(tx, hash_of(token), most=_MOST_CODES, now=now)
    if account_id is None:
        raise PendingLoginOver
    return account_id


async def finish(tx: Tx, token: str) -> None:
    """End the waiting log-in in the commit that begins the session, so that it becomes one session, never two."""
    if not await pending_logins.delete_pending_login(tx, hash_of(token)):
        raise PendingLoginOver
