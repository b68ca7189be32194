"""The machine that was measured on, as every report names it."""

import os
import platform
from typing import Any

_BUSY_PERCENT = 10


def facts(*, postgres: str, busy_percent: float) -> dict[str, Any]:
    """`busy_percent` is what other programs took of the machine while nothing was measured."""
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "postgresql": postgres,
        "busy_percent": busy_percent,
    }


def sentence(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cores']} cores {machine['architecture']}, {machine['system']}, Python {machine['python']}, "
        f"PostgreSQL {machine['postgresql']}"
    )


def warning(machine: dict[str, Any]) -> list[str]:
    """What a reader must know who would trust the figures of a busy machine."""
    busy = machine["busy_percent"]
    if busy <= _BUSY_PERCENT:
        return []
    return [f"Other programs kept this machine {busy:.0f} % busy: a service of one process suffers most from that."]
