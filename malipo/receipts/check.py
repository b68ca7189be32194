"""The check of the receipt log: compares the log with payments, refunds, corrections and closed days, and the tree with
its leaves. It only reads, and reads everything."""

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from malipo import clock, phone
from malipo.db import Conn
from malipo.errors import Code, Problem
from malipo.receipts import checkpoint, log_keys, merkle_tree, tiles, tree_store
from malipo.receipts.fact import Fact, Kind, commitment_of, decode, is_canonical
from malipo.receipts.genesis import genesis_of
from malipo.receipts.merkle_tree import Node, Range, hash_leaf
from malipo.receipts.signed_note import NoteRefused, VerifierKey
from malipo.receipts.store import check_reads, logs
from malipo.receipts.store.check_reads import CheckedFact
from malipo.receipts.store.logs import Log
from malipo.receipts.tiles import WIDTH, Tile
from malipo.receipts.tree_store import LogBroken
from malipo.reconciliation.close.signed_content import DayClose
from malipo.reconciliation.close.signed_content import decode as decode_close
from malipo.reconciliation.close.store import closes

_LEAVES_AT_ONCE = 64 * WIDTH
_FACTS_AT_ONCE = 2000
_DAYS_AT_ONCE = 50
_MOST = 1000  # findings of one kind


class LogFinding(Code):
    """A mistake in the receipt log."""

    LEAVES = "receipt_check_leaves"
    ENTRY = "receipt_check_entry"
    FACT = "receipt_check_fact"
    UNKNOWN = "receipt_check_unknown"
    MISSING = "receipt_check_missing"
    TILE = "receipt_check_tile"
    ROOT = "receipt_check_root"
    SIGNATURE = "receipt_check_signature"
    GENESIS = "receipt_check_genesis"
    DAY = "receipt_check_day"


class CheckResult(msgspec.Struct, frozen=True):
    logs: int
    facts: int
    erased: int
    checkpoints: int
    behind: int  # events that are not in the log yet
    days: int  # closed days that were compared
    findings: list[Problem]


async def check(connection: Conn) -> CheckResult:
    """Check everything in one snapshot, so that new events do not look like differences."""
    findings: list[Problem] = []
    keys = await log_keys.find_verifier_keys(connection)
    found = await logs.find_all(connection)
    checkpoints = 0
    for log in found:
        checkpoints += await _check_tree(connection, log, keys, findings)
        _check_genesis(log, found, findings)
    counted = await _check_facts(connection, findings)
    missing = await check_reads.find_missing(connection, most=_MOST)
    findings += [Problem(LogFinding.MISSING, payment=payment) for payment in missing]
    return CheckResult(
        logs=len(found),
        facts=counted["facts"],
        erased=counted["erased"],
        checkpoints=checkpoints,
        behind=await check_reads.count_behind(connection),
        days=await _check_days(connection, findings),
        findings=findings,
    )


async def _check_tree(connection: Conn, log: Log, keys: list[VerifierKey], findings: list[Problem]) -> int:
    """Compare every root and every stored tile with the leaves. Returns the number of compared checkpoints."""
    published = {each.size: each for each in await check_reads.find_checkpoints(connection, log.number)}
    computed: dict[Node, bytes] = {}
    sizes, done, roots = sorted(published), 0, {}
    last: dict[int, tuple[int, bytes]] = {}
    while done < log.size:
        try:
            entries = await tree_store.find_entries(connection, log, done, min(done + _LEAVES_AT_ONCE, log.size))
        except LogBroken:
            findings.append(Problem(LogFinding.LEAVES, log=log.origin, leaf=done))
            return len(published)
        hashes = [hash_leaf(each) for each in entries]
        for size in [each for each in sizes if done < each <= done + len(entries)]:
            roots[size] = _root(computed, hashes, done, size)
        whole = len(hashes) // WIDTH * WIDTH
        rows = [b"".join(hashes[at : at + WIDTH]) for at in range(0, whole, WIDTH)]
        for tile, expected in tree_store.grown_tiles(done // WIDTH, rows, last).items():
            await _compare_tile(connection, log, tile, expected, findings)
        for at in range(0, whole, WIDTH):
            _add(computed, Node(8, (done + at) // WIDTH), tiles.root_of_hashes(hashes[at : at + WIDTH]))
        done += len(entries)
    for size, each in published.items():
        try:
            opened = checkpoint.open_checkpoint(each.note, keys)
        except NoteRefused:
            findings.append(Problem(LogFinding.SIGNATURE, log=log.origin, size=size))
            continue
        if (opened.head.origin, opened.head.size, opened.head.root) != (log.origin, size, roots.get(size)):
            findings.append(Problem(LogFinding.ROOT, log=log.origin, size=size))
    return len(published)


def _root(computed: Mapping[Node, bytes], hashes: list[bytes], done: int, size: int) -> bytes:
    """The root of the first leaves, from the stored subtrees of 256 leaves and more."""
    known = dict(computed)
    for node in merkle_tree.nodes_of(Range(0, size)):
        if node not in known:
            begin = (node.number << node.level) - done
            known[node] = tiles.root_of_hashes(hashes[begin : begin + (1 << node.level)])
    return merkle_tree.hash_range(Range(0, size), known)


def _add(computed: dict[Node, bytes], node: Node, hashed: bytes) -> None:
    """Add a leaf, with every subtree that it completes."""
    computed[node] = hashed
    while node.number & 1:
        hashed = merkle_tree.hash_children(computed[Node(node.level, node.number - 1)], hashed)
        node = Node(node.level + 1, node.number >> 1)
        computed[node] = hashed


async def _compare_tile(connection: Conn, log: Log, tile: Tile, expected: bytes, findings: list[Problem]) -> None:
    """Compare a stored tile. A tile that is not stored yet is no finding, because it follows from the leaves; and a
    tile of a higher level still grows."""
    stored = (await logs.find_tiles(connection, log.number, {tile})).get(tile)
    if stored is not None and stored[: len(expected)] != expected[: len(stored)]:
        findings.append(Problem(LogFinding.TILE, log=log.origin, level=tile.level, tile=tile.number))


def _check_genesis(log: Log, found: list[Log], findings: list[Problem]) -> None:
    """Check whether the log continues an earlier log. That one may be lost, as after a restore."""
    if log.genesis is None or log.genesis == genesis_of(None):
        return
    _, _, previous = log.genesis.partition("\n\n")
    try:
        head = checkpoint.head_of(previous)
    except NoteRefused:
        head = None
    later = [each.origin for each in found if each.number >= log.number]
    if head is None or genesis_of(previous) != log.genesis or head.origin in later:
        findings.append(Problem(LogFinding.GENESIS, log=log.origin))


async def _check_facts(connection: Conn, findings: list[Problem]) -> Counter[str]:
    counted: Counter[str] = Counter()
    after = (0, 0)
    while rows := await check_reads.find_facts(connection, after=after, most=_FACTS_AT_ONCE):
        for row in rows:
            counted["facts"] += 1
            if row.fact is None or row.salt is None:
                counted["erased"] += 1
                continue
            if commitment_of(row.salt, row.fact) != row.entry or not is_canonical(row.fact):
                findings.append(Problem(LogFinding.ENTRY, payment=row.subject_id))
            elif not row.is_known:
                findings.append(Problem(LogFinding.UNKNOWN, payment=row.subject_id))
            elif differing := _differences(row, decode(row.fact)):
                findings.append(Problem(LogFinding.FACT, payment=row.subject_id, fields=differing))
        after = (rows[-1].log, rows[-1].leaf)
    return counted


def _differences(row: CheckedFact, fact: Fact) -> list[str]:
    """The fields in which the fact differs from the payment. Pure."""
    expected = {
        "fact": row.kind,
        "merchant": row.merchant_id,
        "payment": row.refund_of or row.subject_id,
        "refund": row.subject_id if row.refund_of else None,
        "reference": row.reference,
        "type": row.type,
        "channel": row.channel,
        "amount": row.amount,
        "phone": phone.mask(row.phone),
        "network_receipt": row.provider_reference,
    }
    if row.kind is not Kind.CORRECTED and row.ended_at is not None:
        expected["at"] = clock.iso(row.ended_at)
    else:
        expected["ordinal"] = row.ordinal
    return [name for name, value in expected.items() if getattr(fact, name) != value]


async def _check_days(connection: Conn, findings: list[Problem]) -> int:
    """Compare each closed day: the moves of its floats must equal the log's completed payments and the corrections.
    Days with events that the log has not read yet, and later days, are left out. Returns how many were compared."""
    unread = await check_reads.find_oldest_unread(connection)
    days: dict[date, DayClose] = {}
    while page := await closes.find_after(connection, max(days, default=None), limit=_DAYS_AT_ONCE):
        days |= {each.day: decode_close(each.content) for each in page}
    compared = [each for each in days if unread is None or each < clock.day_of(unread)]
    if not compared:
        return 0
    logged = await check_reads.find_days(connection, first=compared[0], last=compared[-1])
    for day in compared:
        close = days[day]
        of_close: Counter[str] = Counter()
        after = days.get(day + timedelta(days=1))
        following = {} if after is None else after.late  # what was written into the day after its close
        for routes in (close.routes, following):
            for name, amount in routes.items():
                ends, _, channel = name.partition(" ")
                source, _, target = ends.partition(">")
                of_close[channel] += amount * ((source == "float") - (target == "float"))
        of_day = {channel: amount for (of, channel), amount in logged.items() if of == day}
        findings += [
            Problem(LogFinding.DAY, day=day, channel=channel, closed=of_close[channel], logged=of_day.get(channel, 0))
            for channel in sorted(of_close.keys() | of_day.keys())
            if channel and of_close[channel] != of_day.get(channel, 0)
        ]
    return len(compared)
