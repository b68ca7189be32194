"""The example receivers when they die or cannot store: what was not stored was not answered with 2xx, and comes again."""

import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.examples.example_receivers import Shop
from tests.examples.signed_webhooks import OLD, event, signed

Open = Callable[..., Shop]


def test_who_was_killed_remembers_what_was_answered(open_shop: Open) -> None:
    shop = open_shop(OLD)
    body = event(1)
    headers = signed(body)
    assert shop.take(body, headers)[1].endswith("marked paid")
    shop.reopen()
    assert shop.take(body, headers)[1].endswith("seen before")
    late = event(1, status="PENDING", reference=shop.paid_by(1)[0])
    assert shop.take(late, signed(late))[1].endswith("PENDING comes late")
    assert len(shop.paid_by(1)) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the files of a running process")
def test_what_could_not_be_stored_is_done_by_the_retry(open_shop: Open) -> None:
    shop = open_shop(OLD)
    first, body = event(1), event(2)
    assert shop.take(first, signed(first))[0] == 200
    headers = signed(body)
    # SQLite cannot even begin; a file of lines is left with half a line.
    shop.let_files_grow(shop.db.stat().st_size + 20 if shop.language == "node" else 0)
    assert shop.take(body, headers)[0] == 500
    assert shop.paid_by(2) == []
    shop.let_files_grow(2**40)
    assert shop.take(body, headers)[1].endswith("marked paid")
    assert shop.take(body, headers)[1].endswith("seen before")
    shop.reopen()
    assert shop.take(body, headers)[1].endswith("seen before")
    assert len(shop.paid_by(2)) == 1


@pytest.mark.parametrize("open_shop", ["python", "php"], indirect=True)
def test_the_id_and_the_work_are_one_transaction(open_shop: Open) -> None:
    shop = open_shop(OLD)
    body = event(1)
    headers = signed(body)
    with closing(sqlite3.connect(shop.db)) as db, db:  # The work goes wrong after the id was written.
        db.execute("CREATE TRIGGER broken BEFORE UPDATE ON orders BEGIN SELECT RAISE(FAIL, 'broken'); END")
    assert shop.take(body, headers)[0] == 500
    with closing(sqlite3.connect(shop.db)) as db, db:
        db.execute("DROP TRIGGER broken")
    assert shop.take(body, headers)[1].endswith("marked paid")


@pytest.mark.parametrize("open_shop", ["python", "php"], indirect=True)
def test_who_dies_between_believing_and_storing_does_the_work_at_the_retry(open_shop: Open) -> None:
    shop = open_shop(OLD)
    body = event(1)
    headers = signed(body)
    received: list[object] = []

    def knock() -> None:
        try:
            received.append(shop.take(body, headers))
        except OSError as error:
            received.append(error)

    with closing(sqlite3.connect(shop.db, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")  # Nobody else can write, so it waits where it would store.
        caller = threading.Thread(target=knock)
        caller.start()
        caller.join(0.3)
        assert caller.is_alive(), received
        shop.kill()
        caller.join(60)
    assert [type(each) for each in received if isinstance(each, tuple)] == [], "nobody was told that it is stored"
    shop.start()
    assert shop.take(body, headers)[1].endswith("marked paid")
    assert shop.take(body, headers)[1].endswith("seen before")


@pytest.mark.parametrize("open_shop", ["node"], indirect=True)
def test_half_a_line_at_the_end_of_the_file_is_none(open_shop: Open) -> None:
    shop = open_shop(OLD)
    body = event(1)
    headers = signed(body)
    assert shop.take(body, headers)[0] == 200
    shop.kill()
    whole = shop.db.read_bytes()
    for end in (len(whole) - 3, len(whole) - 40, whole.rstrip().rindex(b"\n") + 2):
        shop.db.write_bytes(whole[:end])
        shop.start()
        assert shop.take(body, headers)[1].endswith("marked paid"), whole[end:]
        shop.reopen()
        assert shop.take(body, headers)[1].endswith("seen before")
        shop.kill()
        assert len(shop.paid_by(1)) == 1


def test_a_new_shop_has_one_order_to_try(open_shop: Open) -> None:
    shop = open_shop(OLD)
    shop.kill()
    shop.db.unlink()
    shop.start()
    body = event(17)
    assert shop.take(body, signed(body))[1].endswith("order 17: marked paid")
