"""With which options the embedded PostgreSQL is initialised and started, and who may connect to it.

The supervisor imports nothing of malipo, so it gets them as an argument.
"""

import json

# Options of each start, which ALTER SYSTEM cannot override.
_ALWAYS = {
    "listen_addresses": "",  # no TCP: nobody reaches it over the network
    "port": "5432",  # only a part of the socket's name
    "unix_socket_directories": "../socket",  # relative to the data, so it is short wherever they are
    "unix_socket_permissions": "0700",  # closed to other users of the machine
    "logging_collector": "off",  # its log is the supervisor's, which keeps it short
}
# Options that an operator may change: written to postgresql.conf when the cluster is created.
_SETTINGS = {
    "shared_buffers": "128MB",  # PostgreSQL's default, whatever initdb chose for this machine
    "max_connections": "100",  # the same
    "timezone": "UTC",  # as everywhere in malipo
    "log_timezone": "UTC",  # so that its log can be compared with ours
    "log_error_verbosity": "terse",  # a refused row's details hold phone numbers, and logs are passed around
}
_INITDB = (
    "--username=malipo",
    "--encoding=UTF8",
    "--locale=C",  # the same order of texts on every machine
    "--data-checksums",  # a page that the disk has damaged is an error, not an answer
    "--auth=trust",  # replaced by what follows before the first start
)
# The folder of the socket is closed to other users of the machine, so every connection through it is one of ours.
_WHO_MAY_CONNECT = """\
local  all          malipo       trust
local  replication  malipo       trust
local  all          all          reject
host   all          all     all  reject
"""


def as_argument() -> str:
    """The supervisor's last argument."""
    lines = [f"{name} = '{value}'\n" for name, value in (_SETTINGS | _ALWAYS).items()]
    return json.dumps(
        {
            "postgres": [part for name, value in _ALWAYS.items() for part in ("-c", f"{name}={value}")],
            "initdb": _INITDB,
            "postgresql.conf": "".join(["\n# Written by malipo.\n", *lines]),
            "pg_hba.conf": _WHO_MAY_CONNECT,
        }
    )
