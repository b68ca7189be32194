"""Starts the units of deploy/systemd as systemd does: it starts a program, restarts it, and keeps its socket."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.test_child_processes import children
from tests.conftest import NO_LIMITS, SECRET_KEY, Running

# As systemd starts a service that has a socket unit.
_ACTIVATED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""
# What is installed as bin/malipo; each version has a folder of its own.
_PROGRAM = """#!{python}
import malipo
malipo.__version__ = "{version}"
from malipo.cli import main
main()
"""


class Unit:
    """A service and, unless it has no port, its socket, which stays open whatever becomes of the service."""

    def __init__(
        self, folder: Path, *command: str, environment: dict[str, str], listener: socket.socket | None = None
    ) -> None:
        self._command = command
        self._listener = listener
        self.port: int = listener.getsockname()[1] if listener is not None else 0
        self._folder = folder
        self._installed = folder / "installed"
        self.install("1")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MALIPO_PORT": str(self.port or 8080),
            "MALIPO_SECRET_KEY": SECRET_KEY,
            "MALIPO_WORKER_STOP_SECONDS": "1",
            "MALIPO_DATA_DIR": str(folder / "var"),
            **{f"MALIPO_{name.upper()}": str(value) for name, value in NO_LIMITS.items()},
            **environment,
        }
        self.service = self.start()

    def install(self, version: str) -> None:
        """A new folder, and the link of the unit shows to it from now on."""
        folder = self._installed.with_name(f"version-{version}")
        folder.mkdir(parents=True)
        program = folder / "malipo"
        program.write_text(_PROGRAM.format(python=sys.executable, version=version))
        program.chmod(0o755)
        self._installed.unlink(missing_ok=True)
        self._installed.symlink_to(folder)

    def start(self) -> Running:
        program = [str(self._installed / "malipo"), *self._command]
        files = [] if self._listener is None else [self._listener.fileno()]
        if files:
            program = [sys.executable, "-c", _ACTIVATED, str(files[0]), *program]
        log = self._folder / "malipo.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                program, env=self.environment, stdout=output, stderr=output, cwd=self._folder, pass_fds=files
            )
        self.service = Running(process, f"http://127.0.0.1:{self.port}", log)
        return self.service

    def restart(self) -> None:
        """systemctl restart: the next process begins when the last one has ended."""
        assert self.service.stop(seconds=60) == 0
        self.start()

    def reload(self) -> None:
        """systemctl reload: its exit code is that of ExecReload."""
        done = subprocess.run(
            [str(self._installed / "malipo"), "reload", str(self.service.process.pid)],
            env=self.environment,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "Reloaded.\n"), done.stderr

    def kill(self) -> None:
        """kill -9 of every process of the service, as when the machine runs out of memory."""
        for pid in [self.service.process.pid, *children(self.service.process.pid)]:
            os.kill(pid, signal.SIGKILL)
        self.service.process.wait(10)

    def close(self) -> None:
        self.service.stop(seconds=60)


@contextmanager
def a_unit(
    folder: Path, *command: str, environment: dict[str, str], listener: socket.socket | None = None
) -> Iterator[Unit]:
    folder.mkdir(exist_ok=True)
    unit = Unit(folder, *command, environment=environment, listener=listener)
    try:
        yield unit
    finally:
        unit.close()


def listening() -> socket.socket:
    """The socket of a unit."""
    return socket.create_server(("127.0.0.1", 0), backlog=2048)
