"""The migration files of this version: their numbers, their text, and which versions can still run on each.

A file may say in a comment of its own line `-- Serves: 0014`: processes of a version whose last migration is 14, or
later, run on this schema too, so they need not stop while it is applied. Without that line it serves only versions
that have the file themselves.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_SERVES = re.compile(r"^-- Serves: (\d{4})$", re.MULTILINE)


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def file(self) -> str:
        return f"{self.number:04}_{self.name}.sql"

    @cached_property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @cached_property
    def serves(self) -> int:
        """The last migration of the oldest version that can still run when this one is applied."""
        found = _SERVES.search(self.sql)
        return min(int(found[1]), self.number) if found else self.number


@cache
def migrations() -> Sequence[Migration]:
    """In the order in which they are applied."""
    folder = resources.files("malipo.db").joinpath("migrations")
    found = [
        Migration(int(match[1]), match[2], file.read_text())
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(found, key=lambda each: each.number)
