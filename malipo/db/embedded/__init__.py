"""The PostgreSQL that malipo starts itself when it was given none.

shared_server.py    a process joins the one server of its data folder, and leaves it
supervisor.py       the process that starts, restarts and stops PostgreSQL
server_settings.py  the options of PostgreSQL and initdb, and who may connect
system_user.py      the system's user that PostgreSQL runs as
binaries.py         which PostgreSQL is started
"""

from malipo.db.embedded.binaries import EmbeddedError
from malipo.db.embedded.shared_server import NotRunning, server

__all__ = ["EmbeddedError", "NotRunning", "server"]
