"""The units under a real systemd: the wheel and deploy/systemd in a Debian of their own, booted in a container.

The container has a file system, processes, a network and a cgroup of its own, and cannot reach those of this machine.
Its Debian is made by scripts/systemd-root, and is not changed: what a run writes is in memory, and goes with it.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / ".venv" / "systemd-root"
UNITS = ("malipo-api.socket", "malipo-api", "malipo-worker")
CODE = "/opt/malipo/lib/python3.11/site-packages/malipo"
ENVIRONMENT = """\
MALIPO_DATABASE_URL=postgresql://malipo@/malipo?host=/var/run/postgresql
MALIPO_STATE_DIR=/mnt/marks/malipo
MALIPO_TRUSTED_PROXIES=127.0.0.1
MALIPO_RATE_LIMIT_CREATE=0
"""
# As docs/installing.md, docs/backups.md and docs/operating/database-roles.md say, with one role that peer lets in.
INSTALL = """\
set -eu
/opt/malipo/bin/pip install --quiet --no-index --no-deps /mnt/wheel/*.whl
useradd --system --home-dir /var/lib/malipo malipo
install -d -m 0750 -g malipo /etc/malipo
install -m 0640 -g malipo /mnt/wheel/environment /etc/malipo/environment
install -d -o malipo -g malipo -m 0700 /mnt/marks/malipo
cp /mnt/units/*.service /mnt/units/*.socket /etc/systemd/system/
systemctl daemon-reload
systemctl start postgresql@15-main
runuser -u postgres -- psql -qc 'CREATE ROLE malipo LOGIN' -c 'CREATE DATABASE malipo OWNER malipo'
malipo() { runuser -u malipo -- /opt/malipo/bin/malipo --environment-file /etc/malipo/environment "$@"; }
malipo migrate >&2
malipo merchant create Duka >&2
systemctl enable --quiet --now malipo-api.socket malipo-api malipo-worker
malipo key create "$(malipo merchant list --json | grep -o 'mer_[a-z0-9]*')" | grep -o 'mlp_live_[A-Za-z0-9_]*'
"""
# Boots in the folder $1, with a cgroup of its own ($2). The mounts are seen by nobody else, and all ends with this process.
BOOT = """\
echo $$ >"$2/cgroup.procs" || exit
exec unshare --mount --cgroup --pid --fork --kill-child --mount-proc sh -c '
umount --recursive /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /run || exit
systemd-nspawn --directory="$1" --boot --volatile=overlay --private-network --register=no --keep-unit --machine=malipo-test \\
    --resolv-conf=off --timezone=off --link-journal=no --console=pipe --bind-ro="$2:/mnt/wheel" --bind-ro="$3:/mnt/units"
' boot "$1" "$3" "$4"
"""
# A proxy's kept connections: payments until the input ends, then how each was answered. A line says that it has begun.
LOAD = """\
import collections, http.client, json, sys, threading
answers, key, is_over = collections.Counter(), sys.argv[1], threading.Event()
def pay(client):
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=120)
    body = json.dumps({"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000100", "buyerName": "Asha"})
    number = 0
    while not is_over.wait(0.05):
        number += 1
        try:
            headers = {"x-api-key": key, "Idempotency-Key": f"{sys.argv[2]}-{client}-{number}"}
            connection.request("POST", "/v1/payments", body, headers)
            answer = connection.getresponse()
            answer.read()
            answers[str(answer.status)] += 1
        except Exception as error:
            answers[repr(error)] += 1
            connection.close()
        if client == 0 and number == 20:
            print("begun", flush=True)
threads = [threading.Thread(target=pay, args=(client,)) for client in range(6)]
for each in threads: each.start()
sys.stdin.read()
is_over.set()
for each in threads: each.join()
print(json.dumps(answers))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (DEBIAN / "requirements.lock").exists() or not shutil.which("systemd-nspawn"),
        reason="scripts/systemd-root made no Debian: it needs root, debootstrap and systemd-container",
    ),
]


class Machine:
    def __init__(self, leader: int) -> None:
        spaces = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
        folder = f"/proc/{leader}/root"
        variables = ("HOME=/root", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
        enter = ("nsenter", f"--target={leader}", *spaces, f"--root={folder}", f"--wd={folder}")
        self._enter = (*enter, "env", "-i", *variables)
        self.key = ""

    def start(self, *command: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen([*self._enter, *command], text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def run(self, *command: str) -> tuple[int, str]:
        done = subprocess.run([*self._enter, *command], check=False, capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).strip()

    def states(self) -> list[str]:
        return self.run("systemctl", "is-active", *UNITS)[1].split()

    def readyz(self) -> str:
        program = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/readyz', timeout=120).status)"
        return self.run("/opt/malipo/bin/python", "-c", program)[1].splitlines()[-1]

    def main(self, unit: str) -> str:
        return self.run("systemctl", "show", "--property=MainPID", "--value", unit)[1]

    def child(self, unit: str) -> str:
        """Of the main process; empty while there is none."""
        main = self.main(unit)
        return self.run("cat", f"/proc/{main}/task/{main}/children")[1].strip()

    @contextmanager
    def load(self, name: str) -> Iterator[dict[str, int]]:
        """Payments while the block runs; then how many were answered how."""
        answers: dict[str, int] = {}
        with self.start("/opt/malipo/bin/python", "-c", LOAD, self.key, name) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            try:
                yield answers
            finally:
                answers.update(json.loads(process.communicate()[0]))


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # The test's own limit ends it.
        time.sleep(0.2)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    wheel = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheel, ROOT], check=True
    )
    (wheel / "environment").write_text(f"MALIPO_SECRET_KEY={secrets.token_hex(32)}\n{ENVIRONMENT}")
    hierarchy = next(each for each in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")) if each.exists())
    cgroup = hierarchy / f"malipo-test-{os.getpid()}"
    cgroup.mkdir()
    arguments = ("sh", "-c", BOOT, "boot", DEBIAN, cgroup, wheel, ROOT / "deploy" / "systemd")
    said = wheel / "console"
    with said.open("wb") as console:
        process = subprocess.Popen(
            [str(each) for each in arguments], stdin=subprocess.DEVNULL, stdout=console, stderr=console
        )
        try:
            yield _installed(process, cgroup, said)
        finally:
            process.kill()  # and with it all of its namespace
            process.wait()
            until(lambda: "populated 0" in (cgroup / "cgroup.events").read_text())
            for folder in sorted(cgroup.glob("**/"), reverse=True):
                folder.rmdir()


def _installed(process: "subprocess.Popen[bytes]", cgroup: Path, said: Path) -> Machine:
    init = cgroup / "payload" / "init.scope" / "cgroup.procs"

    def has_booted() -> bool:
        assert process.poll() is None, said.read_text()
        return init.exists() and bool(init.read_text().split())

    until(has_booted)
    machine = Machine(int(init.read_text().split()[0]))
    until(lambda: machine.run("systemctl", "is-system-running")[1] in ("running", "degraded"))
    code, output = machine.run("sh", "-c", INSTALL)
    assert code == 0, output
    machine.key = next(line for line in output.splitlines() if line.startswith("mlp_live_"))
    return machine


def test_the_units_start_and_may_write_the_state_folder_that_the_page_names(machine: Machine) -> None:
    assert machine.states() == ["active"] * 3
    until(lambda: machine.readyz() == "200")
    until(lambda: ".mark" in machine.run("ls", "/mnt/marks/malipo")[1])


def test_a_reload_replaces_the_processes_and_loses_no_request(machine: Machine) -> None:
    with machine.load("reload") as answers:
        for unit in UNITS[1:]:
            main, child = machine.main(unit), machine.child(unit)
            assert machine.run("systemctl", "reload", unit) == (0, "")
            assert machine.main(unit) == main
            assert machine.child(unit) != child
    assert list(answers) == ["201"]


def test_a_restart_loses_no_request(machine: Machine) -> None:
    with machine.load("restart") as answers:
        assert machine.run("systemctl", "restart", *UNITS[1:]) == (0, "")
        until(lambda: machine.readyz() == "200")
    assert list(answers) == ["201"]


def test_a_reload_that_cannot_start_the_new_processes_fails_and_the_old_ones_go_on(machine: Machine) -> None:
    children = [machine.child(unit) for unit in UNITS[1:]]
    with machine.load("failing") as answers:
        machine.run("mv", f"{CODE}/api", f"{CODE}/away")
        codes = [machine.run("systemctl", "reload", unit)[0] for unit in UNITS[1:]]
        machine.run("mv", f"{CODE}/away", f"{CODE}/api")
    assert codes == [1, 1]
    for unit in UNITS[1:]:
        assert "serve.not_reloaded" in machine.run("journalctl", f"--unit={unit}")[1]
    assert list(answers) == ["201"]
    assert [machine.child(unit) for unit in UNITS[1:]] == children


@pytest.mark.parametrize("unit", UNITS[1:])
@pytest.mark.parametrize("process", [Machine.child, Machine.main], ids=["child", "main"])
def test_a_killed_process_is_started_again(machine: Machine, unit: str, process: Callable[[Machine, str], str]) -> None:
    killed = process(machine, unit)
    machine.run("sh", "-c", f"kill -9 {killed}")
    until(lambda: process(machine, unit) not in (killed, "0", ""))
    until(lambda: machine.states() == ["active"] * 3)
    until(lambda: machine.readyz() == "200")


def test_what_is_stopped_with_its_socket_is_not_started_by_a_request(machine: Machine) -> None:
    assert machine.run("systemctl", "stop", *UNITS) == (0, "")
    assert "Connection refused" in machine.readyz()
    assert machine.states() == ["inactive"] * 3
    assert machine.run("systemctl", "start", *UNITS) == (0, "")
    until(lambda: machine.readyz() == "200")
