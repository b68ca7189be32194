"""malipo without `malipo[otel]`: it runs, and settings that ask for traces are refused with what is missing."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.conftest import SECRET_KEY, Running, free_port, until_ready

# As if it were not installed.
REFUSE = """
import runpy, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("opentelemetry", "google"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
sys.argv = ["malipo", *sys.argv[1:]]
runpy.run_module("malipo", run_name="__main__")
"""


def _environment(folder: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MALIPO_SECRET_KEY": SECRET_KEY,
        "MALIPO_DATA_DIR": str(folder / "var"),
        **more,
    }


def _start(environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as lines:
        return subprocess.Popen([sys.executable, "-c", REFUSE, "api"], env=environment, stdout=lines, stderr=lines)


async def test_it_takes_requests_where_opentelemetry_is_not_installed(tmp_path: Path, database_url: str) -> None:
    port = free_port()
    environment = _environment(tmp_path, MALIPO_DATABASE_URL=database_url, MALIPO_PORT=str(port))
    running = Running(_start(environment, tmp_path / "api.log"), f"http://127.0.0.1:{port}", tmp_path / "api.log")
    try:
        await until_ready(running)
        async with aiohttp.ClientSession() as http, http.get(f"{running.url}/v1/payments") as answer:
            assert answer.status == 401
    finally:
        assert await asyncio.to_thread(running.stop) == 0


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({}, "malipo: MALIPO_TRACES needs OpenTelemetry, and it is not installed: see docs/operating/tracing.md.\n"),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "malipo: OTEL_TRACES_EXPORTER must be otlp or none; it is 'zipkin'.\n"),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "malipo: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf; it is 'grpc'.\n",
        ),
    ],
)
def test_traces_that_cannot_be_had_stop_the_start_with_a_sentence(
    tmp_path: Path, variables: dict[str, str], sentence: str
) -> None:
    environment = _environment(
        tmp_path, MALIPO_TRACES="true", MALIPO_DATABASE_URL="postgresql://127.0.0.1:1/none", **variables
    )
    done = subprocess.run(
        [sys.executable, "-c", REFUSE, "worker"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, sentence)


def test_off_nothing_of_opentelemetry_is_imported() -> None:
    program = (
        "import sys, malipo.cli.serve, malipo.cli.worker, malipo.cli.demo, malipo.tracing\n"
        "with malipo.tracing.running(is_on=False, process='api'):\n"
        "    print([name for name in sys.modules if name.partition('.')[0] in ('opentelemetry', 'google', 'requests')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout == "[]\n"
