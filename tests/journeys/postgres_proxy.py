"""A proxy between malipo and PostgreSQL that can cut a connection at a chosen message, such as COMMIT.

It reads just enough of PostgreSQL's protocol to know which statements a transaction has run and when its COMMIT
passes; and what a statement that is a transaction of its own is, whose COMMIT is the end of its messages. It knows nothing of malipo but a piece of the SQL at which the test wants it to act.
"""

import asyncio
import contextlib
import shutil
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

_SOCKET = ".s.PGSQL.5432"


class Fault(Enum):
    CUT_BEFORE = auto()  # the server never gets the message, and the connection is cut
    CUT_AFTER = auto()  # the server has done it and answered; the answer is lost
    CUT_DURING = auto()  # the server gets it, and malipo's connection is cut at once
    HANG_BEFORE = auto()  # the server never gets it, and the connection stays open and silent
    HANG_AFTER = auto()  # the server has done it and said so; the line stays open and silent
    PARTITION = auto()  # the server gets nothing any more, not even that malipo has closed the connection
    HOLD = auto()  # the message waits until the test lets it pass


@dataclass
class Trap:
    """A fault that waits for its moment: a COMMIT, or a statement, of a transaction that ran a certain SQL."""

    fault: Fault
    after: str  # a piece of the SQL that the transaction has run
    at_commit: bool
    stays_away: bool
    sprung: asyncio.Event = field(default_factory=asyncio.Event)
    may_pass: asyncio.Event = field(default_factory=asyncio.Event)
    server_is_done: asyncio.Event = field(default_factory=asyncio.Event)


class PostgresProxy:
    def __init__(self, server_socket: str) -> None:
        self._server_socket = server_socket
        self._traps: list[Trap] = []
        self._lines: set[_Line] = set()
        self._is_away = False
        self._is_silent = False
        self._last_heard = 0.0

    def trap(self, fault: Fault, *, after: str, at_commit: bool = True, stays_away: bool = False) -> Trap:
        """Set a trap for the next transaction that fits; each springs once, in the order they were set."""
        self._traps.append(Trap(fault, after, at_commit, stays_away))
        return self._traps[-1]

    def go_away(self) -> None:
        """Cut everything, and take no new connection until `come_back`."""
        self._is_away = True
        for line in list(self._lines):
            line.cut()

    def come_back(self) -> None:
        self._is_away = False

    def fall_silent(self) -> None:
        """Pass nothing more on the lines there are. New ones are taken, and work."""
        for line in self._lines:
            line.is_silent = True

    def fall_silent_for_good(self) -> None:
        """Pass nothing more; new lines are taken, and stay as silent."""
        self._is_silent = True
        self.fall_silent()

    def speak_again(self) -> None:
        self._is_silent = False

    def note_message(self) -> None:
        self._last_heard = asyncio.get_running_loop().time()

    async def until_quiet(self, *, seconds: float) -> None:
        """Return when malipo has asked for nothing for so long: everything it could do without us is done."""
        while (rest := self._last_heard + seconds - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(rest)

    def cut_all(self) -> None:
        for line in list(self._lines):
            line.cut()

    def sprung_by(self, sql: list[str], *, is_commit: bool) -> Trap | None:
        for trap in self._traps:
            # A statement is the one that was just run; a COMMIT ends a transaction that ran it at some time.
            ran = sql if trap.at_commit else sql[-1:]
            if trap.at_commit is is_commit and any(trap.after in each for each in ran):
                self._traps.remove(trap)
                trap.sprung.set()
                return trap
        return None

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_away:
            writer.transport.abort()
            return
        try:
            server = await asyncio.open_unix_connection(self._server_socket)
        except OSError:
            writer.transport.abort()
            return
        line = _Line(self, (reader, writer), server)
        line.is_silent = self._is_silent
        self._lines.add(line)
        try:
            await line.run()
        finally:
            self._lines.discard(line)
            line.cut()


class _Line:
    """One connection, and what has been said on it."""

    def __init__(
        self,
        proxy: PostgresProxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._wire = proxy
        self._from_client, self._to_client = client
        self._from_server, self._to_server = server
        self._prepared: dict[bytes, str] = {}
        self._ran: list[str] = []
        self._is_in_transaction = False
        self._alone: str | None = None  # the statement under way, if it is a transaction of its own
        self._after: Trap | None = None  # the trap that springs when the server says that it is ready
        self.is_silent = False

    def cut(self) -> None:
        self._to_client.transport.abort()
        self._to_server.transport.abort()

    async def run(self) -> None:
        pumps = {asyncio.ensure_future(self._pump_to_server()), asyncio.ensure_future(self._pump_to_client())}
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump_to_server(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            # The first message has no kind: it opens a session, or cancels another one.
            length = await self._from_client.readexactly(4)
            hello = length + await self._from_client.readexactly(struct.unpack("!i", length)[0] - 4)
            if not self.is_silent:
                self._to_server.write(hello)
            while True:
                kind, message = await _message(self._from_client)
                self._wire.note_message()
                if self.is_silent:
                    continue
                if (trap := self._read(kind, message)) is not None and not await self._spring(trap, message):
                    continue
                self._to_server.write(message)
                await self._to_server.drain()

    async def _pump_to_client(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                kind, message = await _message(self._from_server)
                if self._after is not None:
                    # What follows is the answer that nobody is to hear.
                    if kind == b"Z":
                        self._server_has_answered(self._after)
                    continue
                if not self.is_silent:
                    self._to_client.write(message)
                    await self._to_client.drain()

    def _read(self, kind: bytes, message: bytes) -> Trap | None:
        """Follow the conversation; the trap that this message springs."""
        body = message[5:]
        if kind == b"P":
            name, sql, _ = body.split(b"\0", 2)
            self._prepared[name] = sql.decode()
        elif kind == b"B":
            _, name, _ = body.split(b"\0", 2)
            self._ran.append(self._prepared[name])
            self._alone = None if self._is_in_transaction else self._prepared[name]
            return self._wire.sprung_by(self._ran, is_commit=False)
        elif kind == b"Q" and body.startswith(b"BEGIN"):
            self._ran.clear()
            self._is_in_transaction = True
        elif kind == b"S" and self._alone is not None:
            statement, self._alone = self._alone, None
            return self._wire.sprung_by([statement], is_commit=True)
        elif kind == b"Q" and body.startswith(b"ROLLBACK"):
            self._is_in_transaction = False
        elif kind == b"Q" and body == b"COMMIT;\0":
            self._is_in_transaction = False
            return self._wire.sprung_by(self._ran, is_commit=True)
        return None

    async def _spring(self, trap: Trap, message: bytes) -> bool:
        """Whether the message may go its way."""
        match trap.fault:
            case Fault.HOLD:
                await trap.may_pass.wait()
                return True
            case Fault.CUT_BEFORE:
                self._cut_for(trap)
            case Fault.HANG_BEFORE:
                self.is_silent = True
            case Fault.CUT_AFTER | Fault.HANG_AFTER:
                self._after = trap
                self._to_server.write(message)
            case Fault.CUT_DURING:
                self._after = trap
                self._to_server.write(message)
                await self._to_server.drain()
                self._to_client.transport.abort()
                await trap.server_is_done.wait()
            case Fault.PARTITION:
                self.is_silent = True
                await asyncio.Event().wait()  # Not even the end of the client's side is read.
        return False

    def _server_has_answered(self, trap: Trap) -> None:
        trap.server_is_done.set()
        if trap.fault is Fault.HANG_AFTER:
            self._after = None
            self.is_silent = True
        else:
            self._cut_for(trap)

    def _cut_for(self, trap: Trap) -> None:
        if trap.stays_away:
            self._wire.go_away()
        self.cut()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    kind, length = struct.unpack("!ci", head)
    return kind, head + await reader.readexactly(length - 4)


@asynccontextmanager
async def proxy_to(database_url: str) -> AsyncIterator[tuple[PostgresProxy, str]]:
    """A wire to this database, and the address at which malipo finds it."""
    parts = urlsplit(database_url)
    proxy = PostgresProxy(f"{parse_qs(parts.query)['host'][0]}/{_SOCKET}")
    folder = Path(tempfile.mkdtemp(prefix="wire-"))  # Short: the kernel takes only short paths for sockets.
    listener = await asyncio.start_unix_server(proxy.connect, folder / _SOCKET)
    try:
        yield proxy, parts._replace(query=f"host={quote(str(folder))}&port=5432").geturl()
    finally:
        listener.close()
        proxy.cut_all()
        shutil.rmtree(folder)
