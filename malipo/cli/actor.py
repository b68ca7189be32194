"""Who acts on the command line, for the audit log: the operator who is logged in, else the user of this machine.

A variable proves nothing, so no variable names an operator. Neither does one name the system's user: the uid does.
"""

import os
import pwd
import socket
from datetime import datetime
from ipaddress import ip_address

from malipo.approvals.moved_alone import OperatorRefusal
from malipo.audit_log import actor as actors
from malipo.audit_log.actor import Actor
from malipo.cli import session_file
from malipo.cli.authority import Authority
from malipo.db import Conn, Tx
from malipo.errors import Unauthorized
from malipo.operators import roles
from malipo.operators import store as operators
from malipo.operators.command_line_session import command_line_session
from malipo.operators.roles import Right
from malipo.operators.store import OperatorSession
from malipo.settings import Settings


class NotLoggedIn(Unauthorized):
    """Nobody is logged in at this terminal."""


async def find_actor(
    tx: Tx, settings: Settings, authority: Authority, *, now: datetime, right: Right = Right.ACT
) -> Actor:
    """The operator who is logged in, if their role has the right; else the user of this machine, if they may."""
    assert authority is not Authority.NOBODY, "a command that only reads changes something"
    session = await find_session(tx, settings, now=now)
    if session is not None:
        if authority is not Authority.MACHINE:
            roles.require(session.operator.role, right)
        return actors.operator_at(session.operator.name, origin(), os_user=os_user())
    is_installing = authority is Authority.INSTALLER and not await operators.has_any_password(tx)
    if authority is not Authority.MACHINE and not is_installing:
        raise NotLoggedIn(code=OperatorRefusal.LOGGED_IN)
    return Actor(f"user {_login_name()}", origin(), os_user())


async def find_session(connection: Conn, settings: Settings, *, now: datetime) -> OperatorSession | None:
    """The session of this user's file, unless it has ended."""
    secret = session_file.read(session_file.path_of(settings))
    if not secret:
        return None
    return await operators.get_live(connection, command_line_session(secret), now=now)


def origin() -> str:
    """The name of this machine, with the address of a remote shell. Anybody can set that variable, so it is shown only
    if it is an address."""
    client = os.environ.get("SSH_CONNECTION", "").partition(" ")[0].partition("%")[0]
    try:
        return f"{host()} from {ip_address(client)}"
    except ValueError:
        return host()


def host() -> str:
    return socket.gethostname()


def os_user() -> str:
    """The operating system's user as the audit log has it: `root (uid 0), SUDO_USER asha`."""
    text = f"{_login_name()} (uid {os.getuid()})"
    sudo = os.environ.get("SUDO_USER", "")
    return f"{text}, SUDO_USER {sudo[:100]}" if sudo.isprintable() and sudo else text


def _login_name() -> str:
    """The log-in name by the uid. USER and LOGNAME are what somebody has set."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
