"""Before a command that moves money or gives access to it, the operator types the password once more, and the code
of the second factor if there is one.

A session is valid for 12 hours, in a file that can be copied. As on the pages, and by the same table, such acts need a
confirmation of the last ten minutes.
"""

import argparse
from datetime import datetime
from typing import TYPE_CHECKING

from malipo import randomness
from malipo.accounts.known_browsers import Browser
from malipo.accounts.reauthentication import RECENT_IN_BROWSER, Proof, SensitiveAct, WrongPassword
from malipo.accounts.second_factor.check_code import CodeChecker, TypedCode
from malipo.cli import terminal
from malipo.cli.actor import find_session, host
from malipo.db import Database, Tx
from malipo.db.database_time import database_now
from malipo.encryption import Encryption
from malipo.errors import Unauthorized
from malipo.operators.store import OperatorSession
from malipo.settings import Settings

if TYPE_CHECKING:
    from malipo.operators.login import OperatorLogin


class NotConfirmed(Unauthorized):
    code = "password_wrong"

    def __init__(self, name: str) -> None:
        super().__init__(f"This is not the password of {name}. Nothing has changed.")


class ConfirmationTooOld(Unauthorized):
    code = "confirmation_too_old"

    def __init__(self) -> None:
        super().__init__("The password was typed too long ago. Nothing has changed. Give the command again.")


async def confirm(arguments: argparse.Namespace, needed: SensitiveAct, database: Database, settings: Settings) -> None:
    """Ask, unless the operator who is logged in has typed the password in the last minutes."""
    async with database.read() as connection:
        now = await database_now(connection)
        session = await find_session(connection, settings, now=now)
    if session is None or _is_recent(session, needed, now=now):
        return  # Without a session the command is refused anyway.
    service = login_service(database, settings)
    password = terminal.secret(arguments, f"Password of {session.operator.name}")
    typed = prompt_code(arguments) if session.has_second_factor else TypedCode()
    async with database.read() as connection:
        now = await database_now(connection)  # It may have been typed slowly.
    try:
        await service.confirm(session, Proof(password, typed), address=host(), browser=Browser(), now=now)
    except WrongPassword:
        raise NotConfirmed(session.operator.name) from None


async def require_recent(tx: Tx, needed: SensitiveAct, settings: Settings, *, now: datetime) -> None:
    """Check in the transaction of the act that the confirmation is recent. Without a session `cli/actor.py` decides."""
    session = await find_session(tx, settings, now=now)
    if session is not None and not _is_recent(session, needed, now=now):
        raise ConfirmationTooOld


def _is_recent(session: OperatorSession, needed: SensitiveAct, *, now: datetime) -> bool:
    return now - session.confirmed_at <= RECENT_IN_BROWSER


def prompt_code(arguments: argparse.Namespace) -> TypedCode:
    typed = terminal.secret(arguments, "Code of the app, or a recovery code").strip()
    return TypedCode(code=typed) if typed.isdecimal() else TypedCode(recovery_code=typed)


def login_service(database: Database, settings: Settings) -> "OperatorLogin":
    """Codes are checked under MALIPO_SECRET_KEY. Without it only operators who have none can log in."""
    # Slow to import, and most commands ask for no password.
    from malipo.accounts.passwords import Passwords
    from malipo.operators.login import OperatorLogin

    encryption = Encryption(*(settings.secret_keys or (randomness.token_hex(32),)))
    codes = CodeChecker(database, encryption, is_command_line=True)
    return OperatorLogin(database, Passwords(), codes, is_command_line=True)
