"""PostgreSQL's protocol as the simulation reads it: where an answer ends, and what is masked."""

import struct

import pytest

from simulation import postgres_messages as protocol


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


READY = message(b"Z", b"I")
ROW = message(b"D", struct.pack("!hi", 2, 5) + b"shaba" + struct.pack("!i", -1))
ANSWER = message(b"T", b"\0\0") + ROW + message(b"C", b"SELECT 1\0") + READY


def test_messages_are_separated_and_an_unfinished_one_is_left() -> None:
    data = message(b"1") + message(b"C", b"BEGIN\0") + READY
    assert [(kind, data[begin:end]) for kind, begin, end in protocol.messages(data)] == [
        (b"1", b""),
        (b"C", b"BEGIN\0"),
        (b"Z", b"I"),
    ]
    assert [kind for kind, _, _ in protocol.messages(data[:-1])] == [b"1", b"C"]


def test_an_answer_is_whole_with_its_last_byte_and_not_before() -> None:
    ends = [protocol.end_of_answer(ANSWER[:length], is_flush=False) for length in range(len(ANSWER) + 1)]
    assert ends == [None] * len(ANSWER) + [len(ANSWER)]


def test_of_two_answers_the_first_ends_first() -> None:
    assert protocol.end_of_answer(ANSWER + READY, is_flush=False) == len(ANSWER)


@pytest.mark.parametrize("last", [message(b"T", b"\0\0"), message(b"n"), message(b"E", b"SERROR\0\0")])
def test_an_answer_to_a_flush_ends_with_a_description_or_an_error(last: bytes) -> None:
    data = message(b"1") + message(b"t", b"\0\0") + last
    assert protocol.end_of_answer(data, is_flush=True) == len(data)
    assert protocol.end_of_answer(data, is_flush=False) is None


def test_a_server_that_wants_a_password_is_refused() -> None:
    assert protocol.end_of_answer(message(b"R", struct.pack("!i", 0)) + READY, is_flush=False)
    with pytest.raises(RuntimeError, match="password"):
        protocol.end_of_answer(message(b"R", struct.pack("!i", 3)), is_flush=False)


def test_rows_are_read_as_text_and_null_is_none() -> None:
    assert protocol.rows(ANSWER) == [["shaba", None]]


def test_an_error_is_raised_with_its_words() -> None:
    with pytest.raises(RuntimeError, match="no such table"):
        protocol.rows(message(b"E", b"SERROR\0Mno such table\0\0") + READY)


def test_the_pid_of_a_backend_is_in_its_greeting() -> None:
    greeting = message(b"R", struct.pack("!i", 0)) + message(b"K", struct.pack("!ii", 4711, 99)) + READY
    assert protocol.backend_pid(greeting) == 4711
    assert protocol.backend_pid(READY) is None


def _deadlock(detail: str) -> bytes:
    return message(b"E", b"SERROR\0C40P01\0Mdeadlock detected\0D" + detail.encode() + b"\0\0") + READY


@pytest.mark.parametrize(
    "detail",
    [
        "Process {0} waits for ShareLock on transaction {0}; blocked by process {0}.",
        "Process {0} waits for ExclusiveLock on tuple (0,1) of relation {0} of database {0}; blocked by process {0}.",
        "Process {0} waits for ShareLock on virtual transaction 7/{0}; blocked by process {0}.",
        "Process {0} waits for ExclusiveLock on advisory lock [{0},1,2,1]; blocked by process {0}.",
    ],
)
def test_a_deadlock_reads_the_same_whatever_numbers_the_server_gave(detail: str) -> None:
    one, other = _deadlock(detail.format(9)), _deadlock(detail.format(12_345))
    assert protocol.without_numbers(one) == protocol.without_numbers(other)
    assert one != other


def test_nothing_else_is_masked() -> None:
    answer = message(b"E", b"SERROR\0C23505\0Mprocess 12 is there\0\0") + READY
    assert protocol.without_numbers(answer) == answer
    assert protocol.without_numbers(ANSWER) == ANSWER
    tuples = [_deadlock(f"Process 1 waits for ExclusiveLock on tuple (0,{number}).") for number in (1, 2)]
    assert protocol.without_numbers(tuples[0]) != protocol.without_numbers(tuples[1])


def test_a_query_and_a_greeting_are_written_as_the_server_reads_them() -> None:
    assert protocol.query("SELECT 1") == b"Q\0\0\0\x0dSELECT 1\0"
    greeting = protocol.startup("malipo", "sim")
    assert struct.unpack_from("!ii", greeting) == (len(greeting), protocol.STARTUP)
    assert greeting[8:] == b"user\0malipo\0database\0sim\0\0"
