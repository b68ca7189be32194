"""The files of deploy/ and the page about installing agree with the code."""

import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from malipo.cli import parser
from malipo.settings import Settings
from malipo.settings.environment import variable

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
TIMERS = sorted((ROOT / "deploy" / "systemd").glob("*.timer"))
PROCESSES = [each for each in UNITS if each.with_suffix(".timer") not in TIMERS]
SOCKETS = sorted((ROOT / "deploy" / "systemd").glob("*.socket"))
SCRIPTS = {each.name: each for each in (ROOT / "deploy" / "backup").iterdir()}
CONTAINER = ROOT / "deploy" / "container"
PAGE = (ROOT / "docs" / "installing.md").read_text()


def test_every_unit_is_on_the_page_and_no_other() -> None:
    named = re.findall(r"^\| `([\w-]+\.(?:service|socket|timer))` \|", PAGE, re.MULTILINE)
    assert sorted(named) == sorted(each.name for each in [*UNITS, *SOCKETS, *TIMERS])


@pytest.mark.parametrize("unit", SOCKETS, ids=lambda unit: unit.stem)
def test_a_socket_has_its_service_and_the_port_of_the_settings(unit: Path) -> None:
    assert unit.with_suffix(".service") in UNITS
    settings = Settings()
    assert f"ListenStream={settings.host}:{settings.port}" in unit.read_text().splitlines()


@pytest.mark.parametrize("unit", TIMERS, ids=lambda unit: unit.stem)
def test_a_timer_has_its_service_which_runs_a_script_that_there_is(unit: Path) -> None:
    lines = unit.with_suffix(".service").read_text().splitlines()
    [command] = [line.removeprefix("ExecStart=/opt/malipo-src/") for line in lines if line.startswith("ExecStart=")]
    script = ROOT / command.split()[0]
    assert script.stat().st_mode & 0o111
    assert "Type=oneshot" in lines
    assert "RemoveIPC=no" in lines, "it may run as PostgreSQL's user, whose shared memory is the server's"
    assert "Persistent=yes" in unit.read_text().splitlines()


@pytest.mark.parametrize("unit", PROCESSES, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_that_there_is_and_ends_its_children_in_order(unit: Path) -> None:
    lines = unit.read_text().splitlines()
    [command] = [
        line.removeprefix("ExecStart=/opt/malipo/bin/malipo ") for line in lines if line.startswith("ExecStart=")
    ]
    parser("serve").parse_args(command.split())
    assert "ExecReload=/opt/malipo/bin/malipo reload $MAINPID" in lines, "its exit code is that of the reload"
    assert "KillMode=mixed" in lines


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_understands_a_unit_and_rates_it_well(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(re.sub(r"^(ExecStart|ExecReload)=\S+", r"\1=/bin/true", unit.read_text(), flags=re.MULTILINE))
    copies = [copy, *(shutil.copy(each, tmp_path) for each in [*SOCKETS, *TIMERS] if each.stem == unit.stem)]
    checked = subprocess.run(["systemd-analyze", "verify", *copies], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=20", str(copy)]
    rated = subprocess.run(command, capture_output=True, text=True, check=False)
    assert rated.returncode == 0, rated.stdout


def test_wherever_a_service_is_stopped_its_socket_is_too() -> None:
    """Else the next request starts it again."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*"), ROOT / "README.md"]
    stops = [
        (page.name, names.split())
        for page in pages
        if page.is_file()
        for names in re.findall(r"systemctl stop ([a-z. -]+)", page.read_text())
    ]
    assert stops
    for page, named in stops:
        for socket in SOCKETS:
            assert socket.stem not in named or socket.name in named, f"{page}: {named}"


def test_nginx_gives_malipo_the_host_with_its_port() -> None:
    """malipo compares it with the origin of a form: on another port than 443 each form was 403."""
    assert "proxy_set_header Host $http_host;" in (ROOT / "deploy/nginx/malipo.conf").read_text()


def test_scripts_are_named_where_they_are() -> None:
    """The wheel has no deploy folder; the repository is in /opt/malipo-src."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*")]
    named = {
        (page.name, path)
        for page in pages
        if page.is_file()
        for path in re.findall(r"(?:/opt/[\w-]+/)?deploy/(?:backup|patroni|simulator)/[\w.-]*\w", page.read_text())
    }
    assert len(named) > 20
    assert {
        (page, path) for page, path in named if path.startswith("/opt/") and "/opt/malipo-src/" not in path
    } == set()
    assert {
        (page, path) for page, path in named if not (ROOT / path.removeprefix("/opt/malipo-src/")).exists()
    } == set()


@pytest.mark.parametrize("script", ["after-restore", "rebuild-standby", "import-statements"])
def test_what_is_run_in_a_hurry_is_a_whole_line(script: str) -> None:
    """With its user and its settings: after a restore nobody wants to look for them."""
    text = (ROOT / "docs/backups.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    [line] = [line.strip() for line in lines if f"deploy/backup/{script}" in line]
    needed = re.findall(r"\b(MALIPO|POSTGRES_TOOLS|MALIPO_DATABASE_URL)\b", SCRIPTS[script].read_text())
    user = "malipo" if script == "import-statements" else "postgres"
    assert line.startswith(f"sudo -u {user} env ")
    assert set(needed) <= set(re.findall(r"(\w+)=", line)), "what the script reads"
    assert ("MALIPO_ENVIRONMENT_FILE=" in line) == (user == "malipo"), "else its commands have no settings"


@pytest.mark.parametrize("unit", [each for each in PROCESSES if each.stem != "malipo-api"], ids=lambda unit: unit.stem)
def test_a_worker_may_write_to_the_state_folder_of_the_page(unit: Path) -> None:
    [folder] = set(re.findall(r"`MALIPO_STATE_DIR=(/[\w/]+)`", (ROOT / "docs/backups.md").read_text()))
    assert f"ReadWritePaths=-{folder}" in unit.read_text().splitlines()


def test_whoever_connects_to_the_database_can_read_its_ca() -> None:
    """/etc/malipo is for malipo's user; backups run as another one."""
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*")]
    named = {
        path for page in pages if page.is_file() for path in re.findall(r"sslrootcert=([/\w.-]+)", page.read_text())
    }
    assert named == {"/etc/ssl/malipo/db-ca.pem"}


def test_every_setting_of_the_compose_file_is_one_and_every_command_too() -> None:
    compose = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
    known = {variable(each.name) for each in fields(Settings)}
    commands = set()
    for name, service in compose["services"].items():
        if name != "postgres":
            assert set(service["environment"]) <= known
            [command] = service["command"]
            parser(command).parse_args([command])
            commands.add(command)
    assert commands == {"migrate", "api", "worker"}
    image = (CONTAINER / "Containerfile").read_text()
    assert set(re.findall(r"MALIPO_\w+", image)) <= known
    for source in re.findall(r"^COPY (?!--)(.+) \S+$", image, re.MULTILINE):
        assert all((ROOT / each).exists() for each in source.split())
