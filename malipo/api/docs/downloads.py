"""Archives of the client libraries for pip, npm and PHP, so that no package registry is needed; and examples.

They are built from clients/ at the first request, and have the same bytes on every machine: no times, no owners, files
in order. A wheel of pure Python is a zip file with a list of its contents, and npm installs a tar file.
"""

import base64
import gzip
import hashlib
import io
import json
import posixpath
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from malipo.api.docs import sources
from malipo.http.public_files import PublicFile

# The clients have a number of their own, so that pip and npm install one that has changed since it was last installed.
VERSION: str = json.loads((sources.folder("clients") / "typescript" / "package.json").read_bytes())["version"]
_WHEEL = f"malipo_client-{VERSION}-py3-none-any.whl"
_NPM = f"malipo-client-{VERSION}.tgz"
_PHP = "Malipo.php"
_VERIFIER = "verify_receipt.py"  # for holders of a receipt
# To copy: a receiver of webhooks and a small shop in each language, and a page that sells by links.
_EXAMPLES = (
    "python/receiver.py",
    "python/shop.py",
    "node/receiver.js",
    "node/shop.mjs",
    "php/receiver.php",
    "php/shop.php",
    "php/MalipoController.php",
    "links/shop.html",
)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold
_MODE = 0o644


def archive(name: str) -> PublicFile | None:
    """The archive with this name; None if there is none."""
    return _kept(name) if name in _MADE else None


@cache
def _kept(name: str) -> PublicFile:
    return _MADE[name]()


def _python() -> PublicFile:
    folder = sources.folder("clients") / "python"
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    package = folder / "src" / "malipo_client"
    files = {f"malipo_client/{name}": content for name, content in _files(package)}
    about = f"malipo_client-{VERSION}.dist-info"
    files |= {
        f"{about}/METADATA": "\n".join(
            [
                "Metadata-Version: 2.1",
                f"Name: {project['name']}",
                f"Version: {VERSION}",
                f"Summary: {project['description']}",
                "License: Apache-2.0",
                f"Requires-Python: {project['requires-python']}",
                "Description-Content-Type: text/markdown",
                "",
                (folder / "README.md").read_text("utf-8"),
            ]
        ).encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: malipo\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "".join(
            ["[console_scripts]\n", *(f"{name} = {target}\n" for name, target in project.get("scripts", {}).items())]
        ).encode(),
    }
    return PublicFile.of(_zipped(files, record=f"{about}/RECORD"), "application/octet-stream")


def _zipped(files: dict[str, bytes], *, record: str) -> bytes:
    lines = [f"{name},sha256={_hash(content)},{len(content)}" for name, content in files.items()]
    listed = "\n".join([*lines, f"{record},,", ""]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in (files | {record: listed}).items():
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | _MODE) << 16
            entry.create_system = 3
            target.writestr(entry, content)
    return buffer.getvalue()


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _typescript() -> PublicFile:
    folder = sources.folder("clients") / "typescript"
    package = json.loads((folder / "package.json").read_bytes())
    files = {name: (folder / name).read_bytes() for name in ("package.json", "README.md")}
    for pattern in package["files"]:  # folders, or files by pattern
        for path in sorted(folder.glob(pattern)):
            inside = _files(path) if path.is_dir() else [("", path.read_bytes())]
            files |= {(path / name).relative_to(folder).as_posix(): content for name, content in inside}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as target:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), _MODE
            target.addfile(entry, io.BytesIO(content))
    return PublicFile.of(gzip.compress(buffer.getvalue(), mtime=0), "application/octet-stream")


def _php() -> PublicFile:
    return PublicFile.of((sources.folder("clients") / "php" / _PHP).read_bytes(), "text/plain")


def _verifier() -> PublicFile:
    return PublicFile.of((sources.folder("clients") / _VERIFIER).read_bytes(), "text/plain")


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _example(path: str) -> PublicFile:
    return PublicFile.of((sources.folder("examples") / path).read_bytes(), "text/plain")


_MADE: dict[str, Callable[[], PublicFile]] = {
    _WHEEL: _python,
    _NPM: _typescript,
    _PHP: _php,
    _VERIFIER: _verifier,
    **{posixpath.basename(each): partial(_example, each) for each in _EXAMPLES},
}
