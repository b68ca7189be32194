"""Feed cursors over a restore: a reader with a later cursor gets `cursor_lost`, and no reader misses later events."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restored_stack import a_host, appoint, back_up, bring_back, pay, release, until_fenced


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack:
        yield full_stack


async def _events(full_stack: FullStack, after: str | None) -> tuple[list[str], str]:
    """The phones of all events after a cursor, and the next one."""
    phones: list[str] = []
    while True:
        path = "/v1/events?limit=2" + (f"&after={after}" if after is not None else "")
        answer = await full_stack.api("GET", path)
        assert answer.status == 200, answer.body
        after = answer.body["next"]
        if not answer.body["events"]:
            return phones, str(after)
        phones += [_phone_of(each) for each in answer.body["events"]]


def _phone_of(event: dict[str, Any]) -> str:
    return str(event["transaction"]["recipientPhone"])


async def _paid(full_stack: FullStack, *phones: str) -> None:
    for phone in phones:
        assert (await pay(full_stack, "AIRTEL_MONEY", phone, f"key-{phone}")).status == 201

        async def is_delivered(phone: str = phone) -> bool:
            return phone in (await _events(full_stack, None))[0]

        await until(is_delivered, what="an event")


async def _restored(full_stack: FullStack, tmp_path: Path) -> tuple[str, str]:
    """A cursor of before the backup, and one of the time that is lost."""
    await appoint(full_stack)
    await _paid(full_stack, "+255684000001")
    _, early = await _events(full_stack, None)
    await _paid(full_stack, "+255684000002")
    backup = await back_up(full_stack.database_url)
    await _paid(full_stack, "+255684000003", "+255684000005")
    _, late = await _events(full_stack, None)
    await bring_back(full_stack.database_url, backup)
    await until_fenced(full_stack)
    return early, late


async def test_a_cursor_that_lies_ahead_is_lost_and_names_the_one_to_go_on_from(
    full_stack: FullStack, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        _, late = await _restored(full_stack, tmp_path)
        refused = await full_stack.api("GET", f"/v1/events?after={late}")
        assert (refused.status, refused.code) == (400, "cursor_lost")
        [go_on] = refused.body["details"]["goOn"]
        assert await _events(full_stack, go_on) == ([], go_on)
        await release(full_stack)
        await _paid(full_stack, "+255684000006", "+255684000007", "+255684000009")
        assert (await _events(full_stack, go_on))[0] == ["+255684000006", "+255684000007", "+255684000009"]
        still = await full_stack.api("GET", f"/v1/events?after={late}")
        assert (still.status, still.code) == (400, "cursor_lost"), "also when the feed is longer than before"


async def test_a_cursor_from_before_the_backup_goes_on(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        early, _ = await _restored(full_stack, tmp_path)
        await release(full_stack)
        await _paid(full_stack, "+255684000006", "+255684000007")
        assert (await _events(full_stack, early))[0] == ["+255684000002", "+255684000006", "+255684000007"]


@pytest.mark.slow
async def test_a_cursor_of_a_restore_that_was_itself_undone_is_lost_too(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await appoint(full_stack)
        await _paid(full_stack, "+255684000001")
        backup = await back_up(full_stack.database_url)
        await _paid(full_stack, "+255684000002")
        await bring_back(full_stack.database_url, backup)
        first = await until_fenced(full_stack)
        await release(full_stack)
        await _paid(full_stack, "+255684000003", "+255684000005")
        _, undone = await _events(full_stack, None)
        await bring_back(full_stack.database_url, backup)
        await until_fenced(full_stack, after=first)
        await release(full_stack)
        await _paid(full_stack, "+255684000006", "+255684000007", "+255684000009")
        refused = await full_stack.api("GET", f"/v1/events?after={undone}")
        assert (refused.status, refused.code) == (400, "cursor_lost")
