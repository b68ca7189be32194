"""The array types of PostgreSQL, registered with the driver.

asyncpg knows `bigint`, but not `bigint[]`: the first statement with an array makes a connection query the catalogue.
That takes PostgreSQL eight milliseconds, longer than nearly all statements of a command. The numbers of these types are
the same on every server.
"""

from typing import Any

import asyncpg

# The numbers of the array and of its element, in pg_type.
ARRAYS = {
    "bool": (1000, 16),
    "bytea": (1001, 17),
    "int2": (1005, 21),
    "int4": (1007, 23),
    "int8": (1016, 20),
    "float8": (1022, 701),
    "cidr": (651, 650),
    "json": (199, 114),
    "date": (1182, 1082),
    "timestamptz": (1185, 1184),
}
_UNUSED = dict.fromkeys(("basetype", "range_subtype", "attrtypoids", "attrnames"))
_TYPES: list[dict[str, Any]] = [
    {
        "oid": array,
        "ns": "pg_catalog",
        "name": f"_{name}",
        "kind": b"b",
        "elemtype": element,
        "elemdelim": ",",
        **_UNUSED,
    }
    for name, (array, element) in ARRAYS.items()
]


def know_arrays(connection: asyncpg.Connection) -> None:
    """Register the array types with a connection, as `set_type_codec` would do after a query of the catalogue."""
    connection._protocol.get_settings().register_data_types(_TYPES)  # type: ignore[attr-defined]
