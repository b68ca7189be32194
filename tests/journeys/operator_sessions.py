"""Operators who are logged in at the command line, without the seconds that a password takes."""

import asyncio
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from malipo import clock
from malipo.db import Database
from malipo.operators import store as operators
from malipo.operators.command_line_session import command_line_session
from malipo.operators.login import SESSION_LIFE
from tests.conftest import PATIENCE_SECONDS
from tests.journeys.session_folder import session_folder


def session_of(database_url: str, operator: str) -> Path:
    """The file of a new session of this operator. A fence ends them all, so every command has its own."""
    with ThreadPoolExecutor(1) as thread:  # The caller may be in a loop of its own.
        return thread.submit(asyncio.run, _begin(database_url, operator)).result()


async def _begin(database_url: str, operator: str) -> Path:
    secret, now = secrets.token_urlsafe(32), clock.now()
    async with (
        Database.opened(database_url, size=4, connect_seconds=PATIENCE_SECONDS) as database,
        database.begin() as tx,
    ):
        found = await operators.find_operator(tx, operator)
        assert found is not None, f"there is no operator {operator}"
        session_id = command_line_session(secret)
        await operators.insert(
            tx, session_id, found.id, now=now, confirmed_at=now, expires_at=now + SESSION_LIFE, address="test"
        )
    path = session_folder() / secrets.token_hex(8)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret)
    return path
