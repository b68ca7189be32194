"""The wheel, as an operator installs it: into an empty virtual environment, and started from an empty folder."""

import asyncio
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import malipo_client
import msgspec
import pytest

from malipo import __version__
from malipo.build import of_checkout
from tests.conftest import free_port

ROOT = Path(__file__).parents[2]
DOWNLOAD = f"/docs/downloads/malipo_client-{malipo_client.__version__}-py3-none-any.whl"
# What /docs hands out. Compilers, their caches and their packages stay at home.
CLIENTS = (
    "clients/php/Malipo.php",
    *(f"clients/python/{each}" for each in ("README.md", "pyproject.toml", "src")),
    *(f"clients/typescript/{each}" for each in ("README.md", "dist", "package.json")),
)
# What a wheel is made of.
CONTENT = (
    "malipo",
    "pyproject.toml",
    "hatch_build.py",
    "README",
    "CHANGELOG",
    "LICENSE",
    "docs",
    "clients",
    "examples",
)
pytestmark = pytest.mark.slow


def run(*command: object, **options: object) -> str:
    done = subprocess.run([str(each) for each in command], check=False, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installed programs."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", folder)
    pip = folder / "bin" / "pip"
    run(pip, "install", "--quiet", "--require-hashes", "-r", ROOT / "requirements.lock")
    run(pip, "install", "--quiet", "--no-deps", wheel)
    return folder / "bin"


def test_everything_that_is_in_the_packages_is_in_the_wheel(wheel: Path) -> None:
    listed = run("git", "ls-files", "malipo", "malipo_simulator", cwd=ROOT).splitlines()
    carried = run("git", "ls-files", "CHANGELOG-MERCHANTS.md", "docs", "examples", *CLIENTS, cwd=ROOT).splitlines()
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if not name.startswith(f"malipo-{__version__}.dist-info/")}
    assert inside == {"malipo/_build.txt", *listed, *(f"malipo/_carried/{each}" for each in carried)}


def test_its_version_is_the_one_of_the_code(installed: Path) -> None:
    assert run(installed / "malipo", "--version") == f"malipo {__version__} (build {of_checkout(ROOT)})\n"


def test_a_wheel_of_sources_without_their_repository_has_the_build_that_is_named_or_none(tmp_path: Path) -> None:
    """Never that of a repository in which the sources happen to lie. A source distribution names it in a file."""
    build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path)
    unpacked = tmp_path / "malipo"
    listed = run("git", "ls-files", cwd=ROOT).splitlines()
    for name in (each for each in listed if each.startswith(CONTENT)):
        (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, unpacked / name)
    run("git", "init", "--quiet", tmp_path)
    for variable, reported in ({}, "unknown"), ({"SOURCE_COMMIT": "4f1c09d2a7be"}, "4f1c09d2a7be"):
        run(*build, unpacked, env={**os.environ, **variable})
        assert built(tmp_path) == reported
    (unpacked / "malipo" / "_build.txt").write_text("e9345ec4b0a1\n")
    run(*build, unpacked)
    assert built(tmp_path) == "e9345ec4b0a1"


def built(folder: Path) -> str:
    """The build of the wheel in the folder."""
    [found] = folder.glob("*.whl")
    with zipfile.ZipFile(found) as archive:
        return archive.read("malipo/_build.txt").decode().strip()


@pytest.fixture
def demo(installed: Path, tmp_path: Path) -> Iterator[Path]:
    """Its folder, with the demo started in it."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MALIPO_PORT": str(free_port()),
        "MALIPO_SIMULATOR_PORT": str(free_port()),
    }
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(
        [installed / "malipo", "demo"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=log
    )
    assert process.stdout is not None
    said = b""
    while b"Ctrl-C stops everything" not in said:
        line = process.stdout.readline()
        assert line, (tmp_path / "log").read_text()
        said += line
    assert b"  malipo listen --forward-to" in said
    try:
        yield tmp_path
    finally:
        process.terminate()
        process.wait(240)
        process.stdout.close()
        log.close()


async def test_the_demo_runs_from_an_empty_folder_and_takes_a_payment(demo: Path) -> None:
    access = msgspec.json.decode((demo / "var" / "demo.json").read_bytes())
    headers = {"x-api-key": access["apiKey"], "Idempotency-Key": "order-1"}
    wanted = {"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000456", "buyerName": "Asha"}
    async with aiohttp.ClientSession(access["baseUrl"], headers=headers) as http:
        created = await (await http.post("/v1/payments", json=wanted)).json()
        path = f"/v1/payments/{created['transaction']['id']}"
        status = ""
        while status != "COMPLETED":
            found = await (await http.get(path)).json()
            status = found["transaction"]["status"]
            await asyncio.sleep(0.2)  # The demo has its limits of requests.
        for page in (
            "/docs",
            "/docs/webhooks",
            DOWNLOAD,
            "/dashboard/login",
            "/operator/login",
            "/openapi.json",
            "/dashboard/static/theme.css",
        ):
            assert (await http.get(page)).status == 200
        health = await (await http.get("/healthz")).json()
    assert (health["version"], health["build"]) == (__version__, of_checkout(ROOT))
