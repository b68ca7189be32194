"""A client in its own process, which executes one command for each line that it reads."""

import fcntl
import hashlib
import json
import os
import select
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[3]
TYPESCRIPT = ROOT / "clients" / "typescript"
PHP = ROOT / "clients" / "php"
DRIVERS = Path(__file__).parent / "drivers"


class Refused(Exception):  # noqa: N818
    """What the client threw: its class and those above it, and its fields."""

    def __init__(self, details: dict[str, Any]) -> None:
        super().__init__(f"{details['kinds'][0]}: {details['message']}")
        self.kind: str = details["kinds"][0]
        self.kinds: list[str] = details["kinds"]
        self.details = details


@dataclass
class Program:
    language: str
    process: subprocess.Popen[str]
    complaints: IO[str]

    @classmethod
    def started(cls, language: str) -> "Program":
        command = typescript_command() if language == "typescript" else php_command()
        complaints = TemporaryFile("w+")  # noqa: SIM115 (closed at its end)
        environment = {"PATH": os.environ["PATH"]}
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True
        )
        return cls(language, process, complaints)

    def ask(
        self, call: str, *ids: str, options: dict[str, Any] | None = None, take: int | None = None, **fields: Any
    ) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"call": call, "id": ids, "options": options or {}, "take": take, "fields": fields}
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        has_answered, _, _ = select.select([self.process.stdout], [], [], 60)
        assert has_answered, f"{call} takes too long"
        line = self.process.stdout.readline()
        assert line, self._all_complaints()
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["value"]

    def stop(self) -> None:
        with self.process, self.complaints:
            self.process.kill()  # It may be in the middle of an answer that a failed test did not wait for.

    def _all_complaints(self) -> str:
        self.complaints.seek(0)
        return self.complaints.read()


def typescript_command() -> list[str]:
    return [here("node"), str(DRIVERS / "typescript.mjs"), str(built_typescript() / "index.js")]


def php_command() -> list[str]:
    php = here("php")
    require(_php_says("extension_loaded('curl')"), "PHP's curl")
    return [php, str(DRIVERS / "php.php"), str(PHP / "Malipo.php")]


def require_php_library(file: str) -> None:
    require(_php_says(f"stream_resolve_include_path('{file}')"), file)


def _php_says(expression: str) -> bool:
    return subprocess.run([here("php"), "-r", f"exit((int) !({expression}));"], check=False).returncode == 0


def built_typescript() -> Path:
    """The compiled client; compiled again only if something has changed."""
    require((TYPESCRIPT / "node_modules" / ".bin" / "tsc").exists(), "TypeScript")
    sources = [TYPESCRIPT / "tsconfig.json", *sorted((TYPESCRIPT / "src").glob("*.ts"))]
    state = hashlib.sha256(b"".join(each.name.encode() + each.read_bytes() for each in sources)).hexdigest()
    # Beside it, and not in `node_modules`, which copies of the tree share (`scripts/faults`).
    dist, mark = TYPESCRIPT / "dist", TYPESCRIPT / ".built-from"
    with mark.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not dist.exists() or not mark.exists() or mark.read_text() != state:
            subprocess.run(["node_modules/.bin/tsc"], cwd=TYPESCRIPT, check=True)
            mark.write_text(state)
    return dist


def here(name: str) -> str:
    found = shutil.which(name)
    require(found is not None, name)
    return str(found)


def require(is_here: bool, name: str) -> None:
    """The test is skipped if it is not here: `scripts/test-needs` has said so loudly."""
    if not is_here:
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip(f"there is no {name} here")
