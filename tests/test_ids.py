"""Ids are drawn from a reserve, and still no two are alike: not in threads, and not in a child and its parent."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from malipo import clock, ids

# A process of its own, because a test's has threads, which are not forked.
_FORK = """
import os
from malipo import clock, ids

now = clock.now()
ids.mint("txn_", now)  # There is a reserve now, and each would go on with it.
there, here = os.pipe()
child = os.fork()
minted = " ".join([ids.mint("txn_", now) for _ in range(600)] + [ids.suffix(now) for _ in range(600)])
if not child:
    os.write(here, minted.encode())
    os._exit(0)
os.close(here)
with os.fdopen(there) as heard:
    print(heard.read())
os.waitpid(child, 0)
print(minted)
"""


@pytest.fixture
def in_a_hurry() -> Iterator[None]:
    """Threads that change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("in_a_hurry")
def test_no_two_of_200_000_ids_that_four_threads_mint_in_one_millisecond_are_alike() -> None:
    now = clock.now()

    def mint(_: int) -> list[str]:
        return [ids.mint("txn_", now) for _ in range(50_000)]

    with ThreadPoolExecutor(4) as threads:
        minted = [id_ for each in threads.map(mint, range(4)) for id_ in each]

    assert len(set(minted)) == len(minted) == 200_000
    assert {len(id_) for id_ in minted} == {len("txn_") + 26}


def test_a_child_mints_other_ids_than_its_parent() -> None:
    where = Path(ids.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", _FORK], cwd=where, capture_output=True, check=True, timeout=240)

    child, parent = (line.split() for line in done.stdout.decode().splitlines())

    assert len(child) == len(parent) == 1_200
    assert len(set(child) | set(parent)) == 2_400


def test_ids_of_one_millisecond_are_in_the_order_in_which_they_were_minted() -> None:
    now = clock.now()
    minted = [ids.mint("txn_", now) for _ in range(300_000)]

    assert minted == sorted(minted)
    assert len(set(minted)) == len(minted)


def test_millions_of_ids_of_one_moment_are_still_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now()
    monkeypatch.setattr(ids, "_last", (clock.milliseconds(now), (1 << 80) - 1))  # as after some millions

    minted = [ids.mint("txn_", now) for _ in range(3)]

    assert minted == sorted(minted)
    assert {len(each) for each in minted} == {len("txn_") + 26}


def test_an_id_after_a_series_is_higher_than_all_of_it() -> None:
    now = clock.now()
    last = ids.in_series(ids.first_of_series("txn_", now), 32**4 - 1)

    assert last < ids.mint("txn_", now)


def test_the_next_id_of_a_millisecond_cannot_be_guessed() -> None:
    now = clock.now()
    chances = [ids.mint("txn_", now)[-16:] for _ in range(1_000)]

    for place in range(5, 16):  # Of 32 characters, each turns up about 31 times in a thousand.
        counts = [
            sum(chance[place] == character for chance in chances)
            for character in set("0123456789abcdefghjkmnpqrstvwxyz")
        ]
        assert 0 < min(counts) <= max(counts) < 100
