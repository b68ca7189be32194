"""The errors of the database, and the driver's errors that mean them.

ConnectionLost      the server went away; `in_doubt` if that was during COMMIT, so the commit may have happened
ReadOnly            the same: the server answers and takes no writes, as a primary that became a standby
DiskFull            the same: the server answers, and its disk has no room for a write
AccessRefused       the same: the server, or the driver, refuses the address that is set; a sentence for the operator
StatementCancelled  the same for one statement: it took longer than its connection allows, or somebody cancelled it
DataError           the server refused the data (SQLSTATE classes 22 and 23): the request is bad
Contention          a deadlock or the like: nothing happened, and a retry is right; `in_doubt` if an earlier try was
                    found to have committed
"""

import ssl

import asyncpg

# SQLSTATE classes: connection failed; out of memory, disk or connections; shutdown, or the query was cancelled; disk
# error. None of these is about the statement.
_AWAY_CLASSES = {"08", "53", "57", "58"}
# The server ended a transaction that idled too long.
_AWAY = {"25P03"}
_READ_ONLY = "25006"
_DISK_FULL = "53100"
# Wrong user, password or client certificate, or no line in pg_hba.conf; and an unknown database.
_NOT_ALLOWED_CLASS = "28"
_NO_SUCH_DATABASE = "3D000"
# The setting that a refusal names.
ADDRESS_SETTING = "MALIPO_DATABASE_URL"
# The message of a pooler that does not pass on our settings.
_POOLER = "unsupported startup parameter"
POOLER_REFUSED = (
    "MALIPO_DATABASE_URL leads to a pooler such as PgBouncer ({}). malipo needs sessions of its own: name PostgreSQL "
    "itself, or HAProxy in front of it (docs/operating/high-availability.md)."
)
_CANCELLED = "57014"
# Serialisation failure, deadlock, lock timeout, and a plan that a migration has made stale.
_CONTENTION = {"40001", "40P01", "55P03", "0A000"}


class ConnectionLost(Exception):  # noqa: N818
    def __init__(self, reason: str, *, in_doubt: bool = False) -> None:
        super().__init__(reason)
        self.in_doubt = in_doubt


class StatementCancelled(ConnectionLost):
    pass


class ReadOnly(ConnectionLost):
    pass


class DiskFull(ConnectionLost):
    pass


class AccessRefused(ConnectionLost):
    """Handled like a server that is away, because operators change passwords and addresses while we run."""


class DataError(Exception):
    def __init__(self, reason: str, *, constraint: str | None) -> None:
        super().__init__(reason)
        self.constraint = constraint


class Contention(Exception):  # noqa: N818
    def __init__(self, reason: str, *, in_doubt: bool = False) -> None:
        super().__init__(reason)
        self.in_doubt = in_doubt


def meaning_of(error: BaseException, *, in_doubt: bool = False) -> BaseException:
    """The error that a driver's error stands for; any other error is returned as it is."""
    if isinstance(error, asyncpg.PostgresError):
        state = getattr(error, "sqlstate", None) or ""
        if state == _CANCELLED:
            return StatementCancelled(str(error), in_doubt=in_doubt)
        if state == _READ_ONLY:
            return ReadOnly(str(error), in_doubt=in_doubt)
        if state == _DISK_FULL:
            return DiskFull(str(error), in_doubt=in_doubt)
        if (sentence := _refusal_of_server(error, state)) is not None:
            return AccessRefused(sentence, in_doubt=in_doubt)
        if state[:2] in _AWAY_CLASSES or state in _AWAY:
            return ConnectionLost(str(error), in_doubt=in_doubt)
        if state in _CONTENTION:
            return Contention(str(error))
        if state[:2] in {"22", "23"}:
            return DataError(str(error), constraint=getattr(error, "constraint_name", None))
        return error
    if (sentence := _refusal_of_driver(error)) is not None:
        return AccessRefused(sentence, in_doubt=in_doubt)
    # The driver raises it when a server dies between two messages.
    if isinstance(error, asyncpg.InternalClientError):
        return ConnectionLost(str(error), in_doubt=in_doubt)
    if isinstance(error, asyncpg.InterfaceError):
        if isinstance(error, ValueError):  # The driver's own DataError: a value that no column could hold.
            return DataError("a value does not fit its column", constraint=None)
        return ConnectionLost(str(error), in_doubt=in_doubt)
    if isinstance(error, OSError | TimeoutError):
        return ConnectionLost(str(error) or "no answer in time", in_doubt=in_doubt)
    return error


def _refusal_of_server(error: asyncpg.PostgresError, state: str) -> str | None:
    """A sentence for the operator, without any password; None if the error is no refusal."""
    if state[:2] == _NOT_ALLOWED_CLASS:
        return f"PostgreSQL does not let malipo in (MALIPO_DATABASE_URL): {error}."
    if state == _NO_SUCH_DATABASE:
        return f"PostgreSQL has no such database (MALIPO_DATABASE_URL): {error}."
    if _POOLER in str(error):
        return POOLER_REFUSED.format(error)
    return None


def _refusal_of_driver(error: BaseException) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate of PostgreSQL is not valid (MALIPO_DATABASE_URL): {error.verify_message}."
    if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
        return f"PostgreSQL refuses our certificate or TLS (MALIPO_DATABASE_URL): {error.reason}."
    if isinstance(error, asyncpg.ClientConfigurationError):
        return f"MALIPO_DATABASE_URL cannot be used: {error}."
    if isinstance(error, ConnectionError) and "rejected SSL" in str(error):
        return f"PostgreSQL has no TLS, and MALIPO_DATABASE_URL asks for it: {error}."
    return None
