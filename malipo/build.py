"""Which build this is: the commit that it was made of, and whether files were changed beside it.

A wheel carries it in a file that is written when the wheel is built (hatch_build.py). In a checkout git is asked. Only
the standard library: the build imports this file too.
"""

import subprocess
from functools import cache
from pathlib import Path

FILE = "_build.txt"  # in the package; only a wheel and a source distribution have it
UNKNOWN = "unknown"
_ROOT = Path(__file__).parent.parent


@cache
def build_id() -> str:
    """`4f1c09d2a7be`, with `-dirty` behind it if something was changed; `unknown` if nothing says it."""
    return of_file(_ROOT) or of_checkout(_ROOT) or UNKNOWN


def of_file(root: Path) -> str | None:
    try:
        return (root / "malipo" / FILE).read_text().strip() or None
    except OSError:
        return None


def of_checkout(root: Path) -> str | None:
    if not (root / ".git").exists():  # or git would find that of a folder above
        return None
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch"]
    try:
        finished = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, timeout=10)  # noqa: S603
    except (OSError, subprocess.SubprocessError):  # no git, or it does not trust the folder's owner
        return None
    return of_status(finished.stdout)


def of_status(status: str) -> str | None:
    """The build of what `git status --porcelain=v2 --branch` prints."""
    lines = status.splitlines()
    commits = [line.split()[2] for line in lines if line.startswith("# branch.oid ")]
    if not commits or commits[0] == "(initial)":
        return None
    is_dirty = any(not line.startswith("# ") for line in lines)
    return commits[0][:12] + ("-dirty" if is_dirty else "")
