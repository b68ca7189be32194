"""./run simulate: the whole service under a seed. See docs/simulation.md."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from malipo.db.embedded import server
from simulation import options
from simulation.plan import KINDS
from simulation.safeguards import SAFEGUARDS
from simulation.template import HASH_SEED

# Every run copies a database; in memory that is ten times as quick.
_MEMORY = Path("/dev/shm")  # noqa: S108
_ROOM_BYTES = 2 << 30


def main(arguments: list[str]) -> int:
    given = options.parse(arguments)
    if given.faults == "list":
        print("\n".join(KINDS))
        return 0
    if given.without == "list":
        print("\n".join(f"{name:<28} {safeguard.words}" for name, safeguard in SAFEGUARDS.items()))
        return 0
    if given.without is not None and given.without not in SAFEGUARDS:
        print(f"There is no safeguard {given.without!r}; --without list names them.", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Told to stop, it stops its server too.
    # The runs are forked from a process without threads, whose hashes are fixed. PostgreSQL is looked after here.
    # Each of the runs side by side has a server of its own: what is dead to every transaction of a server decides where
    # it puts a row, and so the order in which rows are found.
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="malipo-simulation-", dir=_roomy()))
        urls = [stack.enter_context(server(Path(folder, str(number)))) for number in range(given.jobs)]
        environment = os.environ | {"PYTHONHASHSEED": HASH_SEED}
        command = [sys.executable, "-m", "simulation.command", ",".join(urls), folder, *arguments]
        try:
            return subprocess.run(command, env=environment, check=False).returncode
        except KeyboardInterrupt:
            return 130


def _roomy() -> Path | None:
    """A folder in memory, if there is room; else the usual one."""
    has_room = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    return _MEMORY if has_room else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
