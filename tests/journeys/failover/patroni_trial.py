"""deploy/patroni/try as a test uses it: three nodes whose primary is killed, left without Patroni, or switched."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

TRY = Path(__file__).parents[3] / "deploy/patroni/try"


@dataclass(frozen=True)
class PatroniTrial:
    cluster: dict[str, Any]  # cluster.json

    @property
    def url(self) -> str:
        return str(self.cluster["database_url"])

    @property
    def read_url(self) -> str:
        return str(self.cluster["read_url"])

    async def primary(self) -> str | None:
        """The node that says that it has the lease."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as http:
            for name in self.cluster["nodes"]:
                if await _status(http, "GET", self._rest(name, "/primary")) == 200:
                    return str(name)
        return None

    async def switch_over(self) -> None:
        leader = await self.primary()
        assert leader is not None
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
            http.post(self._rest(leader, "/switchover"), json={"leader": leader}) as answer,
        ):
            assert answer.status == 200, await answer.text()

    def kill_postgres(self, node: str) -> None:
        """kill -9 of the postmaster, by the id that it wrote into its data folder itself."""
        pid = (Path(self.cluster["nodes"][node]["data"]) / "postmaster.pid").read_text().split("\n", 1)[0]
        os.kill(int(pid), signal.SIGKILL)

    def kill_patroni(self, node: str) -> None:
        """Its PostgreSQL goes on, and does not know that it is no longer the primary."""
        os.kill(self.cluster["nodes"][node]["patroni_pid"], signal.SIGKILL)

    async def until_whole(self, *, seconds: float = 90) -> None:
        """One primary and two standbys that follow it, one of them synchronous."""
        deadline = time.monotonic() + seconds
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as http:
            while True:
                found = {
                    path: [await _status(http, "GET", self._rest(name, path)) for name in self.cluster["nodes"]].count(
                        200
                    )
                    for path in ("/primary", "/replica", "/sync")
                }
                if found == {"/primary": 1, "/replica": 2, "/sync": 1}:
                    return
                assert time.monotonic() < deadline, f"the cluster is not whole: {found}"
                await asyncio.sleep(0.3)

    def _rest(self, node: str, path: str) -> str:
        return f"http://127.0.0.1:{self.cluster['nodes'][node]['rest']}{path}"


async def _status(http: aiohttp.ClientSession, method: str, url: str) -> int | None:
    try:
        async with http.request(method, url) as answer:
            return answer.status
    except (aiohttp.ClientError, TimeoutError):
        return None


@contextmanager
def a_patroni_trial() -> Iterator[PatroniTrial]:
    """It fails, with what to install, where a program is missing: a test that did not run has shown nothing."""
    checked = subprocess.run([sys.executable, TRY, "--check"], capture_output=True, text=True, timeout=30)
    assert checked.returncode == 0, f"This test needs Patroni, etcd, HAProxy and PostgreSQL.\n{checked.stderr}"
    with tempfile.TemporaryDirectory(prefix="malipo-patroni-") as name:
        folder = Path(name) / "trial"
        Path(name).chmod(0o755)  # PostgreSQL runs as another user.
        with (Path(name) / "try.log").open("wb") as output:
            process = subprocess.Popen([sys.executable, TRY, str(folder)], stdout=output, stderr=output)
        try:
            _wait_for(folder / "cluster.json", process, Path(name) / "try.log")
            yield PatroniTrial(json.loads((folder / "cluster.json").read_text()))
        finally:
            process.terminate()
            process.wait(90)


def _wait_for(file: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 180
    while not (file.exists() and file.stat().st_size):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
