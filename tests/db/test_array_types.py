"""The driver asks the catalogue about no array that malipo uses, which took longer than the statement itself."""

import re
from pathlib import Path
from typing import Any

import malipo
from malipo.db import Database
from malipo.db.array_types import ARRAYS

_ARRAY = re.compile(r"::(\w+)\[\]")
_NAMES = {"bigint": "int8", "integer": "int4", "int": "int4", "smallint": "int2", "boolean": "bool"}
_KNOWN_TO_THE_DRIVER = {"text"}


async def test_a_new_connection_asks_the_catalogue_about_no_array(database_url: str) -> None:
    said: list[Any] = []
    asked = ["SELECT " + ", ".join(f"NULL::{name}[]" for name in ARRAYS), "SELECT $1::bigint[]"]
    async with Database.opened(database_url, size=1) as database, database.read() as connection:
        connection.add_query_logger(said.append)
        [row] = await connection.fetch(asked[0])
        assert set(row) == {None}
        assert await connection.fetchval(asked[1], [1, None, 2**62]) == [1, None, 2**62]
    assert [each.query for each in said] == asked


async def test_their_numbers_are_those_of_the_server(database: Database) -> None:
    async with database.read() as connection:
        rows = await connection.fetch(
            "SELECT typname, typarray, oid FROM pg_type WHERE typname = ANY($1) AND typnamespace = 'pg_catalog'::regnamespace",
            list(ARRAYS),
        )
    assert {row["typname"]: (row["typarray"], row["oid"]) for row in rows} == ARRAYS


def test_every_array_in_a_statement_is_known() -> None:
    texts = [path.read_text() for path in Path(malipo.__file__).parent.rglob("*.py")]
    used = {_NAMES.get(name, name) for text in texts for name in _ARRAY.findall(text)}
    assert used - _KNOWN_TO_THE_DRIVER <= set(ARRAYS)
