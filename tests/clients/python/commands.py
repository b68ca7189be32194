"""`malipo-client` as a developer types it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from malipo_client.cli import main

SOURCE = Path(__file__).parents[3] / "clients" / "python" / "src"


def run(*arguments: str) -> tuple[int, str, str]:
    """In this process: its exit code, output and errors."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "malipo_client", *arguments]


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **more}


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], str]]]:
    """A process of its own, and what it has said so far."""
    log = folder / f"client-{len(list(folder.glob('client-*')))}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(*arguments),
            env=environment(HOME=str(folder)),
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        )
    try:
        yield process, log.read_text
    finally:
        process.kill()
        process.wait(240)
