"""`bench where` counts a look for the part of malipo that a file belongs to; the files are those that there are."""

from pathlib import Path

import pytest

from benchmarks.profile import parts_of


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("malipo/validation/fields.py", "reading fields and JSON, ids, the shape of the answer"),
        ("malipo/ids.py", "reading fields and JSON, ids, the shape of the answer"),
        ("malipo/payments/payment_request.py", "reading fields and JSON, ids, the shape of the answer"),
        ("malipo/http_server/app.py", "HTTP: parsing, reading and writing the socket"),
        ("malipo/api/http/writer.py", "HTTP: parsing, reading and writing the socket"),
        ("malipo/api/app.py", "the door: route, request id, errors"),
        ("malipo/merchants/api_keys.py", "who asks: key, address, limit"),
        ("malipo/payments/status_writer.py", "deciding and writing down: fee, wallet, payment, event"),
        ("malipo/db/group_commit.py", "sharing commits"),
        ("malipo/log.py", "the log line"),
    ],
)
def test_a_look_is_counted_for_the_part_of_its_innermost_file(file: str, part: str) -> None:
    assert Path(file).exists()
    assert parts_of(f"run (asyncio/runners.py:190);act ({file}:12);digest (hmac.py:3) 7") == {part: 7}
