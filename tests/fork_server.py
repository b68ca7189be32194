"""A process that has imported malipo once, and forks a child of itself for every program that a test asks for.

Such a child has its own environment, folder, files, signals and end, like one that `python -m MODULE` starts; it only
comes without the second that imports take. Whole ones are still started where the start itself is looked at: `malipo
serve` and `malipo demo` with their children, and some commands in tests/cli/test_commands.py and test_streams.py.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from malipo.app.assemble import assemble
from malipo.build import build_id
from malipo.cli import parser
from malipo.dashboard.language import catalogue
from malipo.dashboard.render import templates
from malipo.db import Database
from malipo.db.schema import migrations
from malipo.http.accept_language import Language
from malipo.http.tls import client_context
from malipo.http_server.app import WebApplication
from malipo.network_statements.profile import built_in
from malipo.settings import Settings
from malipo_simulator.gateways.rsa import make_ahead

ROOT = Path(__file__).parents[1]
_MOST_BYTES = 128 * 1024  # of what is asked for
_KNOWN = ("malipo.worker.run", "malipo_simulator.cli", "malipo_simulator.server")  # and every command's room


class Child:
    """As much of a subprocess.Popen as tests use."""

    def __init__(self, pid: int, ended: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = ended  # whence its exit code will come
        self._turn = threading.Lock()

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired([f"child {self.pid}"], timeout or 0)
        return code

    def send_signal(self, signal_: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal_)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and _is_readable(self._ended, seconds):
            with self._turn:
                if self.returncode is None:
                    said = os.read(self._ended, 100)
                    assert said, "the nursery is gone"
                    self.returncode = os.waitstatus_to_exitcode(int(said))
                    os.close(self._ended)
        return self.returncode


def _is_readable(file: int, seconds: float | None) -> bool:
    look = select.poll()
    look.register(file, select.POLLIN)
    return bool(look.poll(None if seconds is None else seconds * 1000))


def run_module(
    *command: str,
    env: Mapping[str, str],
    cwd: Path = ROOT,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any],
    stderr: int | IO[Any],
) -> Child:
    """`python -m COMMAND`, begun."""
    with open(os.devnull) as nothing:
        files = [nothing if each == subprocess.DEVNULL else each for each in (stdin, stdout, stderr)]
        return _nursery().bear(command, dict(env), str(cwd), [_number(each) for each in files])


def _number(file: int | IO[Any]) -> int:
    return file if isinstance(file, int) else file.fileno()


class _Nursery:
    """The side of whoever asks."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._turn = threading.Lock()
        self.pid: int | None = None  # once it was asked for something
        atexit.register(self._line.close)

    def bear(self, command: tuple[str, ...], env: dict[str, str], cwd: str, files: list[int]) -> Child:
        ended, tells = os.pipe()
        with self._turn:
            socket.send_fds(self._line, [json.dumps([command, env, cwd]).encode()], [*files, tells])
            os.close(tells)
            said = self._line.recv(100)
        assert said, "the nursery is gone"
        pid, self.pid = map(int, said.split())
        return Child(pid, ended)


def pid() -> int | None:
    """Of the process that forks what this one asks for, if it has asked."""
    return _nursery().pid if _nursery.cache_info().currsize else None


_prepared: list[socket.socket] = []  # by `start_for`


def start_for(count: int) -> None:
    """Import malipo once for so many processes, which this one will fork; each is to `take` its own line."""
    _prepared[:] = _start(count)


def take(number: int) -> None:
    """In a fork: keep the line of this number. The others are those of its siblings, and would keep theirs open."""
    for place, line in enumerate(_prepared):
        if place != number:
            line.close()
    _prepared[:] = _prepared[number : number + 1]


def leave() -> None:
    """After the forks: the lines are theirs."""
    for line in _prepared:
        line.close()
    _prepared.clear()


def _start(count: int) -> list[socket.socket]:
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(count)]
    theirs = [other.fileno() for _, other in pairs]
    command = [sys.executable, "-m", "tests.fork_server", *map(str, theirs)]
    process = subprocess.Popen(command, cwd=ROOT, env={"PATH": os.environ["PATH"]}, pass_fds=theirs)
    atexit.register(_wait_for, process, os.getpid())
    for _, other in pairs:
        other.close()
    return [ours for ours, _ in pairs]


def _wait_for(process: subprocess.Popen[bytes], starter: int) -> None:
    if os.getpid() == starter:  # A fork has the same list of things to do at its end.
        process.wait(240)


@cache
def _nursery() -> _Nursery:
    [line] = _prepared or _start(1)
    return _Nursery(line)


# The other side.


def _fork_for(lines: list[socket.socket]) -> socket.socket | None:
    """Fork one nursery for each line. Returns in each with its line, and in this process when all have ended."""
    for line in lines:
        if os.fork() == 0:
            for other in lines:
                if other is not line:
                    other.close()
            return line
    for line in lines:
        line.close()
    for _ in lines:
        os.wait()
    return None


def _look_after(line: socket.socket) -> tuple[list[str], str] | None:
    """Fork whoever is asked for, and say how each ends. Returns in a child, with what it is to be, or at the end."""
    news, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    alive: dict[int, int] = {}
    while True:
        ready = set(select.select([line.fileno(), news], [], [])[0])
        if news in ready:
            os.read(news, 4096)
            _bury(alive)
        if line.fileno() not in ready:
            continue
        asked, files, _, _ = socket.recv_fds(line, _MOST_BYTES, 4)
        if not asked:
            return None
        command, env, cwd = json.loads(asked)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, file in enumerate(files[:3]):
                os.dup2(file, number)
            for file in (*files, *alive.values(), news, wake):
                os.close(file)
            line.close()
            os.environ.clear()
            os.environ.update(env)
            return command, cwd
        alive[pid] = files[3]
        for file in files[:3]:
            os.close(file)
        line.send(b"%d %d" % (pid, os.getpid()))


def _bury(alive: dict[int, int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            ended = alive.pop(dead[0])
            with contextlib.suppress(BrokenPipeError):
                os.write(ended, b"%d" % dead[1])
            os.close(ended)


def _main() -> None:
    for name in _KNOWN:
        import_module(name)
    parser()  # Enters the room of every command.
    # A second and a half of work, which every server would do again for the pages that it is asked for.
    for name in templates().list_templates():
        templates().get_template(name)
    for language in Language:
        catalogue(language)
    build_id()  # asks git
    migrations()  # Every command compares their names with the database's.
    built_in()  # The layouts of networks' statements: their names are choices of a command.
    client_context()  # reads the machine's authorities, for a twentieth of a second
    make_ahead(3)  # of M-Pesa, Airtel Money and AzamPay: all simulators of a run have the same
    # Compiles the patterns of two hundred routes, which Python then knows.
    WebApplication(assemble(Settings(), Database("postgresql://nobody@/none")), most_pages=1)
    assert threading.active_count() == 1, "a thread would not be forked"
    gc.collect()
    gc.freeze()
    line = _fork_for([socket.socket(fileno=int(each)) for each in sys.argv[1:]])
    task = None if line is None else _look_after(line)
    if task is None:
        return
    command, cwd = task
    os.chdir(cwd)
    sys.argv = list(command)
    code: object = None
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    if code is None or isinstance(code, int):
        _end(code or 0)
    sys.exit(code)  # type: ignore[arg-type]


def _end(code: int) -> None:
    """As Python ends, but without giving back all that was imported, piece by piece: that took 70 ms of a processor."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)
    os._exit(120)


if __name__ == "__main__":
    _main()
