"""The package: it stands alone, on every Python that it promises, and says its version."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import malipo_client
import pytest

from tests.clients.python.commands import SOURCE, environment

FILES = sorted(SOURCE.rglob("*.py"))
OLDEST = (3, 9)


def test_its_page_names_its_file() -> None:
    page = (SOURCE.parent / "README.md").read_text()
    assert f"malipo_client-{malipo_client.__version__}-py3-none-any.whl" in page


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_it_needs_nothing_but_the_standard_library_of_the_oldest_python(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=OLDEST)
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - set(sys.stdlib_module_names) <= {"malipo_client"}
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))
    if path.name not in ("__init__.py", "__main__.py"):
        first = next(node for node in tree.body if isinstance(node, ast.ImportFrom))
        assert first.module == "__future__", "so that `X | Y` in annotations is not looked at"


def test_importing_it_loads_no_network_library() -> None:
    code = "import sys, malipo_client; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert "malipo_client.client" in loaded.stdout.split()
    assert not {"asyncio", "ssl", "http.client", "socket", "dataclasses", "hashlib"} & set(loaded.stdout.split())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_is_small_and_works_in_an_empty_environment(tmp_path: Path) -> None:
    def run(*command: object) -> str:
        typed = [str(each) for each in command]
        done = subprocess.run(typed, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, SOURCE.parent)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name == f"malipo_client-{malipo_client.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 60_000
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("malipo_client/")}
    listed = run("git", "-C", SOURCE, "ls-files", ".").splitlines()
    assert inside == set(listed)
    assert "malipo_client/py.typed" in inside
    for python in filter(_works, (sys.executable, "python3.9")):
        place = tmp_path / Path(python).name
        run(python, "-m", "venv", place)
        run(place / "bin" / "pip", "install", "--quiet", "--no-index", wheel)
        assert run(place / "bin" / "malipo-client", "--help").startswith("usage: malipo-client")
        made = "malipo_client.Malipo('key', 'https://pay.example.com')"
        run(place / "bin" / "python", "-c", f"import malipo_client.async_connections; {made}")
        assert "Requires: \n" in run(place / "bin" / "pip", "show", "malipo-client")


def _works(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
