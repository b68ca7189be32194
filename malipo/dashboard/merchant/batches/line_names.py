"""Looks up the name behind each number of a draft: once for each number, within a time limit. A failed look-up never
blocks the draft."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Tx
from malipo.networks.connector import Channel
from malipo.payments.batches.batch import Batch, BatchItem
from malipo.payments.batches.spreadsheet.draft import BatchDraft, number_of, with_names
from malipo.payments.batches.spreadsheet.spreadsheet_line import SpreadsheetLine
from malipo.payments.batches.store import drafts, items
from malipo.recipients.look_up import NameCheck, Payee
from malipo.recipients.name_comparison import Comparison, compare

_SECONDS = 8.0  # A page does not wait longer for names.
_STAYS_TRUE = timedelta(days=1)


async def look_up_lines(request: MerchantRequest, draft: BatchDraft) -> None:
    """Names of the numbers that were not asked for yet, kept with the draft."""
    lines = [each for each in await asyncio.to_thread(draft.lines, request.parts.payments.terms) if not each.problems]
    asked = {number_of(each): each for each in lines if number_of(each) not in draft.edits.names}
    wanted = [Payee(_channel(each), str(each.values["recipientPhone"])) for each in asked.values()]
    if not any(request.parts.recipients.can_look_up(each.channel) for each in wanted):
        return
    checks = await _look_up(request, wanted)
    found = {number: check for number, check in zip(asked, checks, strict=True) if not check.is_over_limit}
    names = {number: check.name for number, check in found.items()}
    unregistered = [number for number, check in found.items() if check.is_registered is False]
    barred = [number for number, check in found.items() if check.is_barred]

    async def act(tx: Tx) -> None:
        current = await drafts.lock(tx, draft.merchant_id, draft.person, draft.id)
        if current is not None:
            await drafts.update(tx, with_names(current, names, unregistered=unregistered, barred=barred))

    await request.parts.queries.write(act)


def _channel(line: SpreadsheetLine) -> Channel:
    return Channel(str(line.values["channel"]))


class NamesOfItems(NamedTuple):
    other_names: list[tuple[BatchItem, str]]  # their numbers belong to another name at the network
    unregistered: list[BatchItem]  # their numbers have no account at the network


async def look_up_items(request: MerchantRequest, batch: Batch, all_items: Sequence[BatchItem]) -> NamesOfItems:
    """Look up the names that were not looked up lately. A number without an account is looked up each time, because it
    may have got one."""
    now = request.parts.clock()
    old = [each for each in all_items if each.name_checked_at is None or each.name_checked_at < now - _STAYS_TRUE]
    found = {each.index: each.name_found for each in all_items}
    unregistered: list[BatchItem] = []
    if any(request.parts.recipients.can_look_up(each.channel) for each in old):
        checks = await _look_up(request, [Payee(each.channel, each.phone) for each in old])
        checked = [(item, check) for item, check in zip(old, checks, strict=True) if check.checked_at is not None]
        unregistered = [item for item, check in checked if check.is_registered is False]
        new = {item.index: check.name for item, check in checked if check.is_registered is not False}
        if new:
            await request.parts.queries.write(lambda tx: items.note_names(tx, batch, new, now=now))
        found |= new
    other_names = [(each, name) for each in all_items if (name := found[each.index]) and differs(each.name, name)]
    return NamesOfItems(other_names, unregistered)


async def _look_up(request: MerchantRequest, lines: Sequence[Payee]) -> list[NameCheck]:
    return await request.parts.recipients.look_up_many(
        request.merchant_id, lines, actor=request.actor, seconds=_SECONDS
    )


def differs(typed: str, found: str | None) -> bool:
    return compare(typed, found) is Comparison.DIFFERS
