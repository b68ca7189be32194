"""Waits at start for a database that is away or refuses us, and says which it is.

Machines start their services in any order, and an operator who fixes a password, a certificate or pg_hba.conf need not
start malipo again. Only an address that can never work ends the start, with a sentence.
"""

import asyncio

import asyncpg

from malipo import clock, log
from malipo.db.errors import AccessRefused, ConnectionLost, meaning_of
from malipo.errors import Impossible

_CONNECT_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
# The log says so at the first try, and then this often.
_SAID_SECONDS = 30.0


class UnusableAddress(Impossible):
    """An address that can never reach a server."""


async def wait_for_database(url: str) -> None:
    """Return when the database accepts a connection."""
    began = clock.monotonic()
    logged: tuple[str, float] | None = None
    while (away := await _why_away(url)) is not None:
        if logged is None or logged[0] != type(away).__name__ or clock.monotonic() - logged[1] >= _SAID_SECONDS:
            logged = type(away).__name__, clock.monotonic()
            _say(away)
        await asyncio.sleep(_AGAIN_SECONDS)
    if logged is not None:
        log.info("database.there", after_seconds=round(clock.monotonic() - began, 1))


async def is_there(url: str) -> bool:
    """Whether the database accepts a connection now."""
    return await _why_away(url) is None


def _say(away: ConnectionLost) -> None:
    if isinstance(away, AccessRefused):
        log.error("database.away", message=f"{away} It is tried again until it lets malipo in.")
    else:
        log.warning("database.away", message=f"The database does not answer, and is waited for: {away}")


async def _why_away(url: str) -> ConnectionLost | None:
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_SECONDS)
    except Exception as error:
        meaning = meaning_of(error)
        if isinstance(error, asyncpg.ClientConfigurationError):
            raise UnusableAddress(str(meaning)) from None
        if isinstance(meaning, ConnectionLost):
            return meaning
        raise
    await connection.close(timeout=_CONNECT_SECONDS)
    return None
