"""The clients that /docs hands out are those of the repository, the same on every machine, and can be installed."""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from malipo_client import __version__

from malipo.api.docs import downloads
from tests.api.docs.samples import DOCS, ROOT

CLIENTS = ROOT / "clients"
WHEEL = f"malipo_client-{__version__}-py3-none-any.whl"
PACKAGE = f"malipo-client-{__version__}.tgz"


def content(name: str) -> bytes:
    found = downloads.archive(name)
    assert found is not None
    return found.content


def tracked(folder: Path) -> set[str]:
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {str((ROOT / each).relative_to(folder)) for each in listed.splitlines()}


def test_the_wheel_has_the_package_and_a_list_that_is_right() -> None:
    with zipfile.ZipFile(io.BytesIO(content(WHEEL))) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    package = {name for name in files if name.startswith("malipo_client/")}
    assert package == tracked(CLIENTS / "python" / "src")
    listed = files[f"malipo_client-{__version__}.dist-info/RECORD"].decode().splitlines()
    assert {line.split(",")[0] for line in listed} == set(files)
    for line in listed[:-1]:
        name, hashed, size = line.split(",")
        assert int(size) == len(files[name])
        assert hashed.startswith("sha256=")
    assert b"Name: malipo-client\n" in files[f"malipo_client-{__version__}.dist-info/METADATA"]


def test_the_package_for_node_has_what_its_manifest_names() -> None:
    with tarfile.open(fileobj=io.BytesIO(content(PACKAGE))) as package:
        names = {each.name.removeprefix("package/") for each in package}
    folder = CLIENTS / "typescript"
    assert names == {"package.json", "README.md"} | {f"dist/{each}" for each in tracked(folder / "dist")}


def test_what_was_compiled_is_what_the_sources_say(tmp_path: Path) -> None:
    """It is in the repository, because a service has no compiler to make it with."""
    folder = CLIENTS / "typescript"
    compiler = folder / "node_modules" / ".bin" / "tsc"
    if not compiler.exists():
        pytest.skip("TypeScript is not installed: run scripts/test-needs")
    subprocess.run([compiler, "-p", folder, "--outDir", tmp_path], check=True)
    made = {each.name: each.read_text() for each in tmp_path.iterdir()}
    kept = {each.name: each.read_text() for each in (folder / "dist").iterdir()}
    assert kept == made, "run tsc in clients/typescript"


def test_it_is_the_same_file_every_time() -> None:
    for name in (WHEEL, PACKAGE, "Malipo.php"):
        first = hashlib.sha256(content(name)).hexdigest()
        downloads._kept.cache_clear()
        assert hashlib.sha256(content(name)).hexdigest() == first


def test_every_file_that_a_page_names_is_there() -> None:
    named = {
        name for page in DOCS.rglob("*.md") for name in re.findall(r"/docs/downloads/([\w.-]+\w)", page.read_text())
    }
    assert named == set(downloads._MADE)
    assert {WHEEL, PACKAGE, "Malipo.php"} < named


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pip_and_npm_install_them(tmp_path: Path) -> None:
    for name in (WHEEL, PACKAGE):
        (tmp_path / name).write_bytes(content(name))

    def run(*command: object) -> str:
        done = subprocess.run(
            [str(each) for each in command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", "empty")
    run("empty/bin/pip", "install", "--quiet", "--no-index", WHEEL)
    assert __version__ in run("empty/bin/pip", "show", "malipo-client")
    run("empty/bin/malipo-client", "--help")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{PACKAGE}")
    program = 'import { Malipo } from "malipo-client"; new Malipo({ apiKey: "k", baseUrl: "http://127.0.0.1:1" });'
    run("node", "--input-type=module", "-e", program)
