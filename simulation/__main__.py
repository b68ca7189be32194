"""./run simulate: the whole service under a seed. See docs/simulation.md."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from malipo.db.embedded import server
from simulation import options
from simulation.plan import KINDS
from simulation.safeguards import SAFEGUARDS

# The order of a set of texts depends on it, so it is the same for every run.
_HASH_SEED = "0"


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
    # The runs are forked from a process without threads, whose hashes are fixed. PostgreSQL is looked after here.
    with tempfile.TemporaryDirectory(prefix="malipo-simulation-") as folder, server(Path(folder)) as url:
        environment = os.environ | {"PYTHONHASHSEED": _HASH_SEED}
        command = [sys.executable, "-m", "simulation.command", url, folder, *arguments]
        try:
            return subprocess.run(command, env=environment, check=False).returncode
        except KeyboardInterrupt:
            return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
