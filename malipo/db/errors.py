"""What can go wrong in the database, and which driver error means it.

ConnectionLost      the server went away; `in_doubt` if that was during COMMIT, so the commit may have happened
DataError           the server refused the data (SQLSTATE classes 22 and 23): the request is bad
Contention          a deadlock or the like: nothing happened, and a retry is right; `in_doubt` if an earlier try was
                    found to have committed
"""

import asyncpg

# SQLSTATE classes: connection failed; out of memory, disk or connections; shutdown, or the query was cancelled; disk
# error. None of these is about the statement.
_AWAY_CLASSES = {"08", "53", "57", "58"}
# A primary that became a standby, and a transaction that idled so long that the server ended it.
_AWAY = {"25006", "25P03"}
# Serialisation failure, deadlock, lock timeout, and a plan that a migration has made stale.
_CONTENTION = {"40001", "40P01", "55P03", "0A000"}


class ConnectionLost(Exception):  # noqa: N818
    def __init__(self, reason: str, *, in_doubt: bool = False) -> None:
        super().__init__(reason)
        self.in_doubt = in_doubt


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
        if state[:2] in _AWAY_CLASSES or state in _AWAY:
            return ConnectionLost(str(error), in_doubt=in_doubt)
        if state in _CONTENTION:
            return Contention(str(error))
        if state[:2] in {"22", "23"}:
            return DataError(str(error), constraint=getattr(error, "constraint_name", None))
        return error
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
