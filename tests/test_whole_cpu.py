"""The processor time of a run has that of processes whose starter has ended."""

import re
import subprocess
import sys

from tests.fork_server import ROOT

BUSY = "import time\nwhile time.process_time() < 1.2: pass"


def test_an_orphan_is_waited_for_and_counted_and_the_exit_code_is_the_commands() -> None:
    starts_an_orphan = ["sh", "-c", '"$0" -c "$1" & exit 3', sys.executable, BUSY]
    done = subprocess.run(
        [sys.executable, "-m", "tests.whole_cpu", *starts_an_orphan], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (3, "")
    counted = re.search(r"; (\d+) s of a processor", done.stdout)
    assert counted is not None
    assert int(counted[1]) >= 1
