import subprocess
import sys
from pathlib import Path

from tests.fork_server import ROOT

_BEGIN_ONE = """
from tests.journeys.session_folder import session_folder
(session_folder() / "session").write_text("secret")
print(session_folder())
"""


def test_the_sessions_of_a_test_process_go_when_it_ends() -> None:
    done = subprocess.run([sys.executable, "-c", _BEGIN_ONE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()
