"""Monitors the schema in each process: whether another version has migrated it so that this one cannot serve it.

The schema is read about once a second, and before a request is answered with 500, because the failed statement may be
one that the new schema does not support. No other request costs a query. A commit that claims payments for sending also
reads the schema: see `restore/restore_detector.py`.
"""

import asyncio

from malipo import log
from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention
from malipo.db.schema import check_served, migrations, read_fingerprint, read_schema
from malipo.errors import Impossible, Refusal, Unavailable

_PATIENCE_SECONDS = 10.0


class BeingUpgraded(Unavailable):
    """The schema is of another version than this process."""

    def __init__(self) -> None:
        super().__init__("The service is being upgraded. Nothing was done; try again.")


class SchemaMonitor:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._changed = asyncio.Event()
        self.is_served: bool | None = None  # None before the first look
        self.problem: str | None = None  # in a sentence
        self._pending = 0
        self._fingerprint: str | None = None  # of the schema that was checked last

    @property
    def warning(self) -> str | None:
        """A sentence for operators about a schema that is served and still needs them; None otherwise."""
        if not self._pending:
            return None
        return f"The database waits for {self._pending} {'migration' if self._pending == 1 else 'migrations'}."

    def require(self) -> None:
        """BeingUpgraded if this process must leave the database alone."""
        if self.problem is not None:
            raise BeingUpgraded

    def is_known(self, fingerprint: str | None) -> bool:
        """Whether this is the schema of the last look, and is served."""
        return self.is_served is True and fingerprint is not None and fingerprint == self._fingerprint

    async def until(self, *, is_served: bool) -> None:
        """Return when a look has found a schema that is served, or that is not."""
        while self.is_served is not is_served:
            await self._changed.wait()

    async def look(self) -> None:
        """Look at the schema, and check it if it has changed. While the database is away, the last result stays."""
        fingerprint = None
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), self._database.read() as connection:
                # Read before the schema: if the schema changes in between, the next look checks it again.
                fingerprint = await read_fingerprint(connection)
                if fingerprint is not None and fingerprint == self._fingerprint:
                    return
                schema = await read_schema(connection)
            self._pending = len(schema.pending(migrations()))
            check_served(schema, migrations())
        except Impossible as problem:
            self._note(str(problem))
            self._fingerprint = fingerprint
        except (ConnectionLost, Contention, TimeoutError) as error:
            log.debug("schema.not_seen", reason=str(error))
        except Exception as error:
            log.error("schema.monitor_broke", error)
        else:
            self._note(None)
            self._fingerprint = fingerprint

    def _note(self, problem: str | None) -> None:
        """Log changes of the result; at the start, a schema that is not served."""
        if problem is not None and problem != self.problem:
            log.error("schema.not_served", reason=problem)
        elif problem is None and self.problem is not None:
            log.info("schema.served")
        self.problem = problem
        if self.is_served is not (problem is None):
            self.is_served = problem is None
            self._changed.set()
            self._changed = asyncio.Event()

    async def explain(self, error: Exception) -> Exception:
        """BeingUpgraded in place of an unexpected error, if the schema has just changed."""
        if isinstance(error, Refusal | Unavailable | ConnectionLost | Contention):
            return error
        await self.look()
        return error if self.problem is None else BeingUpgraded()
