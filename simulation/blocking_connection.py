"""A plain blocking connection to PostgreSQL, beside the event loop: for the lock monitor, the oracle and set-up."""

import os
import select
import socket
import time

from simulation import postgres_messages as protocol

Rows = list[list[str | None]]


class BlockingConnection:
    def __init__(self, socket_path: str, *, user: str, database: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(socket_path)
        self._received = b""
        self._socket.sendall(protocol.startup(user, database))
        self._read(None)

    def ask(self, sql: str, *, seconds: float | None = None) -> Rows:
        """The rows, as text. TimeoutError if they do not come in time; then `finish` must be called before the next."""
        self._socket.sendall(protocol.query(sql))
        return self._read(seconds)

    def finish(self) -> None:
        """Wait for the answer that did not come in time."""
        self._read(None)

    def close(self) -> None:
        self._socket.close()

    def close_and_wait(self) -> None:
        """Return when the backend has ended: it holds its database."""
        [[pid]] = self.ask("SELECT pg_backend_pid()")
        self.close()
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.0002)

    def _read(self, seconds: float | None) -> Rows:
        while (end := protocol.end_of_answer(self._received, is_flush=False)) is None:
            if seconds is not None and not select.select([self._socket], [], [], seconds)[0]:
                raise TimeoutError
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError(f"the server closed the connection: {self._received[-300:]!r}")
            self._received += data
        answer, self._received = self._received[:end], self._received[end:]
        return protocol.rows(answer)


class LockMonitor:
    """Which backends wait for a lock, and for whom. It looks from another database, where nobody locks anything."""

    def __init__(self, connection: BlockingConnection) -> None:
        self._connection = connection

    def blocked(self, *, seconds: float | None = None) -> dict[int, set[int]]:
        rows = self._connection.ask(
            "SELECT DISTINCT pid, pg_blocking_pids(pid) FROM pg_locks WHERE NOT granted", seconds=seconds
        )
        return {int(pid or 0): {int(each) for each in (by or "").strip("{}").split(",") if each} for pid, by in rows}

    def is_waiting(self, pid: int | None) -> bool:
        """Whether a backend waits for somebody else, and will go on waiting.

        Two looks must agree: the server may end a deadlock in the middle of one, which then shows half of the cycle.
        """
        for _ in range(2):
            blocked = self.blocked()
            if pid not in blocked or is_in_cycle(pid, blocked):
                return False
        return True

    def finish(self) -> None:
        self._connection.finish()


def is_in_cycle(pid: int, blocked: dict[int, set[int]]) -> bool:
    """Whether a backend waits for itself in the end: then the server is about to call it a deadlock."""
    seen: set[int] = set()
    ahead = list(blocked.get(pid, ()))
    while ahead:
        each = ahead.pop()
        if each == pid:
            return True
        if each not in seen:
            seen.add(each)
            ahead += blocked.get(each, ())
    return False
