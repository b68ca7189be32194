"""Starts the processes that read files: each is forked from a process that has started and has read nothing.

Starting an interpreter takes ten times the processor time of reading an ordinary file. So the first file starts a
process (`reader_process.py`) that imports what a reader needs and waits for commands. A fork of this process itself
would have its memory, its secrets, its connections and its locks; that process has none of them. It ends with this
process, or when no file was read for a minute.
"""

import atexit
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO

_PROGRAM = Path(__file__).with_name("reader_process.py")
_ANSWER_SECONDS = 60.0  # to start Python and to fork: only a machine that stands still takes so long
_LOOK_AGAIN_SECONDS = 0.01
_MOST_MESSAGE_BYTES = 32 * 1024 * 1024  # The reader sends less; more would be a fault of it.
_WAIT_SECONDS = 60.0  # for the next message: a reader that is only slow has met its limit of processor time before


class Reader:
    """A process that reads one file."""

    def __init__(self, forks: "_Forks", pid: int, output: IO[bytes]) -> None:
        self.output = output
        self._forks = forks
        self._pid = pid
        self._exit_code: int | None = None
        self._turn = threading.Lock()

    def messages(self) -> Iterator[bytes]:
        """What it sends, until it ends, or says nothing for too long."""
        fd = self.output.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)

            def exactly(size: int) -> bytes | None:
                content = bytearray()
                while len(content) < size:
                    most = min(size - len(content), 1 << 20)
                    if not selector.select(_WAIT_SECONDS) or not (read := os.read(fd, most)):
                        return None
                    content += read
                return bytes(content)

            while (head := exactly(4)) is not None:
                size = int.from_bytes(head, "big")
                if size > _MOST_MESSAGE_BYTES or (body := exactly(size)) is None:
                    return
                yield body

    def kill(self) -> None:
        """Kill the process and wait for its end. A second call does nothing."""
        self._send("kill")

    def exit_code(self, seconds: float) -> int | None:
        """The exit code; None if the process still runs after so many seconds."""
        for _ in range(round(seconds / _LOOK_AGAIN_SECONDS)):
            if self._send("look") is not None:
                break
            time.sleep(_LOOK_AGAIN_SECONDS)
        return self._exit_code

    def _send(self, act: str) -> int | None:
        with self._turn:
            if self._exit_code is None:
                try:
                    answer = self._forks.send(f"{act} {self._pid}".encode())
                    self._exit_code = int(answer) if answer != b"alive" else None
                except OSError:  # The process that forked it is gone. The end of its pipe and its limits end it.
                    self._exit_code = -signal.SIGKILL
            return self._exit_code


class _Forks:
    """The process that forks readers."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        self._line.settimeout(_ANSWER_SECONDS)
        self._turn = threading.Lock()
        self.owner = os.getpid()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program.
                [sys.executable, "-I", "-S", "-X", "utf8", str(_PROGRAM), _packages()],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # An interrupt from the terminal is for who waits for the rows.
            )

    def send(self, request: bytes, *files: int) -> bytes:
        with self._turn:
            socket.send_fds(self._line, [request], files)
            if not (answer := self._line.recv(100)):
                raise ConnectionError("the process that forks readers has ended")
        return answer

    def end(self) -> None:
        self._line.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()


_current: _Forks | None = None
_turn = threading.Lock()


def start_reader(file: IO[bytes], command: bytes) -> Reader:
    """It gets the file as standard input, and its pipe, and nothing else of this process."""
    output, theirs = os.pipe()
    try:
        forks, pid = _fork(command, file.fileno(), theirs)
    except BaseException:
        os.close(output)
        raise
    finally:
        os.close(theirs)
    return Reader(forks, pid, open(output, "rb"))


def _fork(command: bytes, *files: int) -> tuple[_Forks, int]:
    global _current
    with _turn:
        if _current is not None and _current.owner == os.getpid():
            try:
                return _current, int(_current.send(command, *files))
            except OSError:
                pass  # It has had nothing to do for a while, or was killed.
        if _current is not None:
            _current.end()
        _current = _Forks()
        return _current, int(_current.send(command, *files))


@atexit.register
def _end() -> None:
    if _current is not None:
        _current.end()


@cache
def _packages() -> str:
    """Where the workbook reader is installed."""
    found = find_spec("python_calamine")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent.parent)
