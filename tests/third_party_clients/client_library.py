"""The libraries, what each can do, and the process that drives one."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
_HERE = Path(__file__).parent
_INSTALLED = ROOT / ".venv" / "opponents"


class Library(NamedTuple):
    name: str
    driver: str
    channel: str
    can: frozenset[str]
    list: str = ""  # the list of requirements that it is installed from; a library for JavaScript has none


def _library(name: str, driver: str, channel: str, can: str, list_: str = "") -> Library:
    return Library(name, driver, channel, frozenset(can.split()), list_)


_BOTH_WAYS = "collect query disburse query_payout"
LIBRARIES = (
    _library("pypesa", "pypesa", "MPESA", _BOTH_WAYS, "requirements"),
    _library("python-pesa", "python_pesa", "MPESA", _BOTH_WAYS, "requirements-namesakes"),
    _library("@openpesa/pesa-js", "pesa_js", "MPESA", _BOTH_WAYS),
    _library("pyairtel", "pyairtel", "AIRTEL_MONEY", "collect query disburse", "requirements"),
    _library("airtelmoney-py", "airtelmoney_py", "AIRTEL_MONEY", _BOTH_WAYS, "requirements"),
    _library("airtel-money-node-sdk", "airtel_money_node_sdk", "AIRTEL_MONEY", "pay"),
    _library("tigopesasdk", "tigopesasdk", "TIGO_PESA", "collect", "requirements"),
    _library("clickpesa", "clickpesa", "CLICKPESA", "collect query", "requirements"),
    _library("azampay-python-sdk", "azampay_python_sdk", "AZAMPAY", "disburse", "requirements"),
    _library("clickpesa-python-sdk", "clickpesa_python_sdk", "CLICKPESA", _BOTH_WAYS, "requirements-namesakes"),
)
NAMED = {library.name: library for library in LIBRARIES}


class Understood(NamedTuple):
    word: str
    shown: Any


@dataclass
class Driver:
    """A process of its own, which sees the library and not our packages."""

    library: Library
    _process: subprocess.Popen[str]
    _complaints: IO[str]

    @classmethod
    def started(cls, library: Library) -> "Driver":
        command, environment = _python(library) if library.list else _node(library)  # or the test is skipped
        complaints = TemporaryFile("w+")  # noqa: SIM115 (closed at its end)
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        )
        return cls(library, process, complaints)

    def ask(self, url: str, credentials: Any, do: str, **fields: Any) -> Understood:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"url": url, "credentials": credentials[self.library.channel], "do": do, "fields": fields}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        assert line, self._all_complaints()
        return Understood(*json.loads(line))

    def stop(self) -> None:
        with self._process, self._complaints:
            pass  # Its input ends, and so does it.

    def _all_complaints(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read()


def _python(library: Library) -> tuple[list[str], dict[str, str]]:
    """Without site-packages: what a library does not bring along or declare is not there by chance."""
    folder = _INSTALLED / library.list
    _here((folder / ".installed-from").exists(), library.name)
    command = [sys.executable, "-S", "-P", "-m", f"tests.third_party_clients.drivers.{library.driver}"]
    return command, {"PATH": os.environ["PATH"], "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def _node(library: Library) -> tuple[list[str], dict[str, str]]:
    node = shutil.which("node")
    _here(node is not None and (_HERE / "node_modules" / ".installed-from").exists(), library.name)
    return [str(node), str(_HERE / "drivers" / f"{library.driver}.mjs")], {"PATH": os.environ["PATH"]}


def _here(is_here: bool, name: str) -> None:
    """The test is skipped if it is not here: `scripts/test-needs` has said so loudly."""
    if not is_here:
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip(f"there is no {name} here")
