"""The scene that a pay page shows, by a table that was written by hand."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo.links.link import LinkStatus
from malipo.links.store.customers_attempts import CustomersAttempt
from malipo.pay_pages.scene import shown
from malipo.payments.transaction import Status, Type
from tests.payments.test_transaction import a_transaction

NOW = datetime(2026, 11, 19, 5, 0, tzinfo=UTC)
PROMPT = 120
ACTIVE, PAID, EXPIRED, CANCELLED = LinkStatus


def attempt(status: str, seconds: int, reported: bool | None, *, is_unsent: bool = False) -> CustomersAttempt:
    payment = replace(a_transaction(Type.COLLECTION, Status(status)), created_at=NOW - timedelta(seconds=seconds))
    began = NOW - timedelta(seconds=seconds)
    return CustomersAttempt(payment, prompted_at=began, is_unsent=is_unsent, is_reported_paid=reported)


# The payment that this browser has begun (no cookie: it has just pressed, and its payment cannot be known): its status,
# so many seconds ago, and what was reported since its end, or that nothing has reached its network. Then, by the link's status, the scene, + if there is a form, ! if the form warns of a second payment.
GRID = """
                          ACTIVE        PAID         EXPIRED      CANCELLED    inactive
none                      form +        closed       closed       closed       closed
no cookie                 unfollowed    closed       unfollowed   unfollowed   unfollowed
PENDING     10            waiting       waiting      waiting      waiting      waiting
PENDING     500           waiting       waiting      waiting      waiting      waiting
PROCESSING  10            asked         asked        asked        asked        asked
PROCESSING  119           asked         asked        asked        asked        asked
PROCESSING  120           in_doubt +!   in_doubt !   in_doubt !   in_doubt !   in_doubt !
PROCESSING  10   unsent   waiting       waiting      waiting      waiting      waiting
PROCESSING  500  unsent   waiting       waiting      waiting      waiting      waiting
COMPLETED   10            paid          paid         paid         paid         paid
COMPLETED   10   unsent   paid          paid         paid         paid         paid
COMPLETED   10   paid     paid          paid         paid         paid         paid
COMPLETED   10   unpaid   taken_back    taken_back   taken_back   taken_back   taken_back
FAILED      10            not_paid +    not_paid     not_paid     not_paid     not_paid
FAILED      10   paid     paid          paid         paid         paid         paid
FAILED      10   unpaid   not_paid +    not_paid     not_paid     not_paid     not_paid
CANCELLED   10            not_paid +    not_paid     not_paid     not_paid     not_paid
CANCELLED   10   paid     paid          paid         paid         paid         paid
"""
_STATUSES = (*LinkStatus, None)
_LIVE = ("waiting", "asked", "in_doubt")


@pytest.mark.parametrize("row", GRID.strip("\n").split("\n")[1:])
def test_each_cell_of_the_table(row: str) -> None:
    words, cells = row[:26].split(), [row[at : at + 14].strip() for at in (26, 40, 53, 66, 79)]
    begun, has_lost_cookie = None, words == ["no", "cookie"]
    if words[0] not in ("none", "no"):
        reported = {"paid": True, "unpaid": False}.get(words[-1])
        begun = attempt(words[0], int(words[1]), reported, is_unsent=words[-1] == "unsent")
    for status, cell in zip(_STATUSES, cells, strict=True):
        found = shown(status, begun, now=NOW, prompt_seconds=PROMPT, has_lost_cookie=has_lost_cookie)
        scene, _, marks = cell.partition(" ")
        assert (found.scene, found.has_form, found.is_warned) == (scene, "+" in marks, "!" in marks), status
        assert found.is_live is (scene in _LIVE)


@pytest.mark.parametrize(
    ("status", "link", "scene"),
    [
        ("COMPLETED", ACTIVE, "form"),
        ("FAILED", ACTIVE, "form"),
        ("PROCESSING", ACTIVE, "asked"),
        ("PENDING", ACTIVE, "waiting"),
        ("COMPLETED", PAID, "paid"),
        ("COMPLETED", EXPIRED, "paid"),
        ("COMPLETED", CANCELLED, "paid"),
        ("COMPLETED", None, "paid"),
    ],
)
def test_whoever_wants_to_pay_again_gets_the_form_only_when_nothing_is_open(
    status: str, link: LinkStatus | None, scene: str
) -> None:
    begun = attempt(status, 10, None)
    assert shown(link, begun, now=NOW, prompt_seconds=PROMPT, wants_again=True).scene == scene
