"""What an operator types: malipo's commands, each a process of its own."""

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


async def malipo(*arguments: str, **settings: Any) -> Said:
    """Run `malipo ARGUMENTS` with these settings and nothing else in its environment."""
    environment = {
        "PATH": os.environ["PATH"],
        **{f"MALIPO_{name.upper()}": str(value) for name, value in settings.items()},
    }
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "malipo", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Said(done.returncode, done.stdout, done.stderr)
