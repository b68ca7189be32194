"""Time and chance come from one place each, so that the simulation can give both."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Only these wait for real time, beside an operating system's process or a person.
REAL_TIME = {
    "malipo/clock.py",
    "malipo/db/embedded/shared_server.py",
    "malipo/db/embedded/supervisor.py",
    "malipo_simulator/server.py",
}
RANDOM = {"malipo/randomness.py", "malipo_simulator/randomness.py", "malipo_simulator/control.py"}


def _users_of(pattern: str) -> set[str]:
    found = set()
    for package in ("malipo", "malipo_simulator"):
        for path in (ROOT / package).rglob("*.py"):
            if re.search(pattern, path.read_text(), flags=re.MULTILINE):
                found.add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        (r"\btime\.(time|time_ns|monotonic|perf_counter|monotonic_ns|perf_counter_ns)\b", REAL_TIME),
        (r"\bdatetime\.(now|utcnow|today)\(", set()),
        (r"^import random$|^from random |\bsecrets\.(token|choice|randbelow)|\bos\.urandom|\buuid\b", RANDOM),
        (r"\bsecrets\.compare_digest", {"malipo_simulator/gateways/mpesa.py", "malipo_simulator/gateways/halopesa.py"}),
    ],
)
def test_only_these_files_read_a_clock_or_draw_random_numbers(pattern: str, allowed: set[str]) -> None:
    assert _users_of(pattern) == allowed


@pytest.mark.parametrize("act", [r"clock\.read_from\(", r"randomness\.draw_from\("])
def test_nothing_in_the_service_puts_another_source_in_place(act: str) -> None:
    assert _users_of(act) == set()


def test_one_place_names_the_business_time_zone() -> None:
    assert _users_of(r"Africa/Dar_es_Salaam") == {"malipo/clock.py", "malipo_simulator/statements/account.py"}
