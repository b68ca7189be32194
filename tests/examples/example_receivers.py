"""The example receivers as processes of our own, and what they have stored."""

import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import free_port
from tests.examples.signed_webhooks import OLD, Headers, post

EXAMPLES = Path(__file__).parents[2] / "examples"
ORDERS = range(1, 301)
LANGUAGES = {"python": sys.executable, "node": "node", "php": "php"}


def interpreter(language: str) -> str:
    """Where it is; the test is skipped if it, or the SQLite that it needs, is not here."""
    found = shutil.which(LANGUAGES[language])
    if not found or (language == "php" and not _has_sqlite(found)):
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip(f"there is no {language} here")
    return found


@cache
def _has_sqlite(php: str) -> bool:
    asked = subprocess.run(
        [php, "-r", "exit((int) !extension_loaded('pdo_sqlite'));"], capture_output=True, check=False
    )
    return asked.returncode == 0


@dataclass
class Shop:
    language: str
    folder: Path
    secrets: tuple[str, ...] = (OLD,)
    workers: int = 1
    lines: list[str] = field(default_factory=list)
    port: int = field(default_factory=free_port)
    orders: Iterator[int] = field(default_factory=lambda: iter(ORDERS))
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def db(self) -> Path:
        return self.folder / "shop"

    @property
    def command(self) -> list[str]:
        program = interpreter(self.language)
        return {
            "python": [program, str(EXAMPLES / "python" / "receiver.py")],
            "node": [program, str(EXAMPLES / "node" / "receiver.js")],
            # With errors in the answer PHP says 200, unless it was told otherwise before.
            "php": [
                program,
                "-d",
                "display_errors=1",
                "-S",
                f"127.0.0.1:{self.port}",
                str(EXAMPLES / "php" / "receiver.php"),
            ],
        }[self.language]

    def launch(self) -> subprocess.Popen[str]:
        """In a group of its own, because PHP's workers do not end with their parent."""
        environment = {"PATH": os.environ["PATH"], "PORT": str(self.port), "DB": str(self.db)}
        environment |= {"WEBHOOK_SECRET": ",".join(self.secrets)} if self.secrets else {}
        environment |= {"PHP_CLI_SERVER_WORKERS": str(self.workers)} if self.workers > 1 else {}
        return subprocess.Popen(
            self.command,
            env=environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            restore_signals=False,  # A file that may not grow is an error then, and not the end of the process.
        )

    def start(self) -> "Shop":
        self.process = process = self.launch()
        self._reader = threading.Thread(target=self._read, args=[process], daemon=True)
        self._reader.start()
        deadline = time.monotonic() + 240
        while not _answers(self.port):
            assert process.poll() is None, self.lines
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.02)
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        with process.stdout:
            self.lines.extend(iter(process.stdout.readline, ""))

    def kill(self) -> None:
        """As a power cut would: nothing is asked of it first."""
        if self.process is None:
            return
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(240)
        self._reader.join(10)

    def reopen(self, *secrets: str) -> "Shop":
        self.kill()
        self.secrets = secrets or self.secrets
        return self.start()

    def take(self, body: bytes, headers: Headers) -> tuple[int, str]:
        return post(self.url, body, headers)

    def let_files_grow(self, size: int) -> None:
        """No file of it may become larger than this, as on a disk that is full."""
        assert self.process
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def sell(self) -> "Shop":
        """Put orders of TZS 1,000 into its books, before it opens."""
        if self.language == "node":
            self.db.write_text("".join(json.dumps({"order": str(each), "amount": 1000}) + "\n" for each in ORDERS))
            return self
        with closing(sqlite3.connect(self.db)) as db, db:
            db.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_by TEXT)")
            db.executemany("INSERT INTO orders VALUES (?, 1000, NULL)", [[str(each)] for each in ORDERS])
        return self

    def paid_by(self, order: int) -> list[str]:
        """The references of the payments that have paid this order, as its books say."""
        if self.language == "node":
            lines = [json.loads(line) for line in self.db.read_text().splitlines() if line.endswith("}")]
            return [line["reference"] for line in lines if line.get("pays") == str(order)]
        with closing(sqlite3.connect(self.db)) as db:
            rows = db.execute("SELECT paid_by FROM orders WHERE id = ? AND paid_by IS NOT NULL", [str(order)])
            return [reference for (reference,) in rows]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
