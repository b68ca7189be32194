"""Which database a command works on: the operator's PostgreSQL, or the embedded one."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from malipo.db.embedded import NotRunning, server
from malipo.errors import Impossible
from malipo.settings import Settings


@contextmanager
def database_url(settings: Settings, *, may_start: bool = False) -> Iterator[str]:
    """The operator's PostgreSQL, or the embedded one that runs. Only the service and the demo may start one: a command
    whose settings are missing would work on an empty database, and report success."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with ExitStack() as running:
        try:
            url = running.enter_context(server(settings.data_dir, may_start=may_start))
        except NotRunning as error:
            raise Impossible(
                "MALIPO_DATABASE_URL is not set, and no malipo with an embedded PostgreSQL runs in "
                f"{settings.data_dir.absolute()} (MALIPO_DATA_DIR). Give this command the settings of the service: "
                "malipo --environment-file /etc/malipo/environment … Or start malipo serve first."
            ) from error
        yield url
