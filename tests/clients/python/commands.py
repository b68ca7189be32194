"""`malipo-client`, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "clients" / "python" / "src"


def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Its exit code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "malipo_client", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return done.returncode, done.stdout, done.stderr
