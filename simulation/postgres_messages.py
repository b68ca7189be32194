"""PostgreSQL's protocol, as far as the simulation reads it: where a request and its answer end. Pure."""

import re
import struct
from collections.abc import Iterator

READY = b"Z"
ERROR = b"E"
CANCEL_REQUEST = 80877102
SSL_REQUEST = 80877103
STARTUP = 196608

_AUTHENTICATED = (0, 12)
_HEAD = struct.Struct("!ci").unpack_from
_ENDS_OF_FLUSH = (b"T", b"n", b"E")
_DESCRIPTION = b"T"
_COLUMN_LENGTH = 18  # what a description says of a column after its name
# In the message of a deadlock: processes, transactions, and the numbers that a database and its tables got when they
# were made; and the message's length with them.
_NUMBERS = re.compile(
    rb"E\x00\x00..S|[Pp]rocess \d+|transaction [\d/]+|relation \d+|database \d+|advisory lock \[\d+", re.DOTALL
)


def messages(data: bytes | bytearray) -> Iterator[tuple[bytes, int, int]]:
    """The kind of each whole message, and where its body begins and ends."""
    at = 0
    while len(data) - at >= 5:
        end = at + 1 + struct.unpack_from("!i", data, at + 1)[0]
        if end > len(data):
            return
        yield bytes(data[at : at + 1]), at + 5, end
        at = end


def end_of_answer(data: bytes, *, is_flush: bool) -> int | None:
    """Where the first whole answer ends; None while it is not whole. One to a Flush ends with a description."""
    at, length = 0, len(data)
    while length - at >= 5:
        kind, size = _HEAD(data, at)
        end: int = at + 1 + size
        if end > length:
            return None
        if kind == READY or (is_flush and kind in _ENDS_OF_FLUSH):
            return end
        if kind == b"R" and struct.unpack_from("!i", data, at + 5)[0] not in _AUTHENTICATED:
            raise RuntimeError("the simulation's PostgreSQL asks for a password")
        at = end
    return None


def backend_pid(data: bytes) -> int | None:
    for kind, begin, _ in messages(data):
        if kind == b"K":
            return int(struct.unpack_from("!i", data, begin)[0])
    return None


def query(sql: str) -> bytes:
    body = sql.encode() + b"\0"
    return b"Q" + struct.pack("!i", len(body) + 4) + body


def startup(user: str, database: str) -> bytes:
    body = struct.pack("!i", STARTUP) + f"user\0{user}\0database\0{database}\0\0".encode()
    return struct.pack("!i", len(body) + 4) + body


def without_numbers(answer: bytes) -> bytes:
    """What an answer says, without what differs from run to run."""
    return _NUMBERS.sub(b"?", answer) if b"40P01" in answer else answer


def without_tables(answer: bytes) -> bytes:
    """A description of columns without the numbers of their tables: a temporary table gets another one in each run."""
    whole = bytearray(answer)
    for kind, begin, _ in messages(answer):
        if kind != _DESCRIPTION:
            continue
        at = begin + 2
        for _ in range(struct.unpack_from("!h", answer, begin)[0]):
            at = answer.index(0, at) + 1
            struct.pack_into("!i", whole, at, 0)
            at += _COLUMN_LENGTH
    return bytes(whole)


def constraint_in(answer: bytes) -> str | None:
    """The constraint that an error names, which a row would have broken."""
    for kind, begin, end in messages(answer):
        if kind == ERROR:
            for each in answer[begin:end].split(b"\0"):
                if each.startswith(b"n"):
                    return each[1:].decode()
    return None


def rows(data: bytes) -> list[list[str | None]]:
    """The rows of an answer in text format. RuntimeError if it is an error."""
    found: list[list[str | None]] = []
    for kind, begin, end in messages(data):
        if kind == b"E":
            raise RuntimeError(data[begin:end].decode(errors="replace").replace("\0", " "))
        if kind == b"D":
            found.append(list(_fields(data, begin)))
    return found


def _fields(data: bytes, at: int) -> Iterator[str | None]:
    count = struct.unpack_from("!h", data, at)[0]
    at += 2
    for _ in range(count):
        length = struct.unpack_from("!i", data, at)[0]
        at += 4
        if length < 0:
            yield None
        else:
            yield data[at : at + length].decode()
            at += length
