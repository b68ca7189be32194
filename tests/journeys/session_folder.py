"""The folder of the sessions that a test process begins. It is removed when that process ends."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp


@cache
def session_folder() -> Path:
    folder = Path(mkdtemp(prefix="malipo-sessions-"))
    atexit.register(shutil.rmtree, folder)
    return folder
