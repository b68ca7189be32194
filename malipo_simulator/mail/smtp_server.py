"""The mail server: as much SMTP as a program needs to hand over an e-mail (RFC 5321). It relays nothing.

Written without malipo's own parts, so that a mistake of one side is seen by the other.
"""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress

from malipo_simulator.mail.inbox import Inbox

_SECONDS = 60.0
_MOST_BYTES = 1024 * 1024
_MOST_RECIPIENTS = 100
_ADDRESS = re.compile(rb"(?i)^(?:MAIL FROM|RCPT TO):\s*<([^<>\r\n]*)>")


class SmtpServer:
    def __init__(self, inbox: Inbox, now: Callable[[], float]) -> None:
        self._inbox = inbox
        self._now = now
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        """Returns the port: 0 takes any that is free."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=64 * 1024)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            await _Session(reader, writer, self._inbox, self._now).run()
        writer.close()


class _Session:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, inbox: Inbox, now: Callable[[], float]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._inbox = inbox
        self._now = now
        self._has_sender = False
        self._recipients: list[str] = []

    async def run(self) -> None:
        await self._say("220 malipo simulator")
        while line := await self._line():
            command = line.strip().upper()
            if command == b"QUIT":
                await self._say("221 bye")
                return
            await self._answer(command.partition(b" ")[0], line.strip())

    async def _answer(self, verb: bytes, line: bytes) -> None:
        address = _ADDRESS.match(line)
        match verb:
            case b"EHLO":
                await self._say("250-malipo simulator", f"250-SIZE {_MOST_BYTES}", "250 8BITMIME")
            case b"HELO" | b"NOOP":
                await self._say("250 OK")
            case b"RSET":
                self._reset()
                await self._say("250 OK")
            case b"MAIL" if address is not None:
                self._reset()
                self._has_sender = True
                await self._say("250 OK")
            case b"RCPT" if address is not None and self._has_sender:
                if len(self._recipients) == _MOST_RECIPIENTS:
                    await self._say("452 too many recipients")
                    return
                self._recipients.append(address[1].decode("utf-8", "replace"))
                await self._say("250 OK")
            case b"DATA" if self._recipients:
                await self._take()
            case b"MAIL" | b"RCPT" | b"DATA":
                await self._say("503 not now, or not like this")
            case _:
                await self._say("502 not known here")

    async def _take(self) -> None:
        await self._say("354 go on, end with a dot")
        content, size = [], 0
        while (line := await self._line()).rstrip(b"\r\n") != b".":
            if not line:
                return  # The connection has ended: there is nothing to keep.
            size += len(line)
            if size <= _MOST_BYTES:
                content.append(line[1:] if line.startswith(b".") else line)
        if size > _MOST_BYTES:
            await self._say("552 too large")
        else:
            self._inbox.add(self._recipients, b"".join(content), at=self._now())
            await self._say("250 kept: see /mail")
        self._reset()

    def _reset(self) -> None:
        self._has_sender = False
        self._recipients = []

    async def _line(self) -> bytes:
        return await asyncio.wait_for(self._reader.readline(), _SECONDS)

    async def _say(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()
