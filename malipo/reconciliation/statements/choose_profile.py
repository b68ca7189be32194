"""Chooses the profile that reads a file: the one with the file's columns."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Invalid, Missing, Refusal
from malipo.network_statements.cell_values import text_of
from malipo.network_statements.mapped_profile import saved_by, with_current_words, with_status_words
from malipo.network_statements.profile import LayoutOperators, StatementProfile, built_in, decode
from malipo.network_statements.read_statement import MOST_ROWS_BEFORE_HEADER
from malipo.network_statements.status_words import folded_words
from malipo.networks.connector import Channel
from malipo.reconciliation.statements.store import statements as store
from malipo.reconciliation.statements.store.statements import SavedLayout
from malipo.table_files.rows import Cell, rows_of


class ProfileRefusal(Code):
    WORD_MEANS_BOTH = "profile_word_means_both"
    NO_WORD_MOVED = "profile_no_word_moved"
    OWN_LAYOUT = "profile_own_layout"
    NO_SUCH = "profile_unknown"
    NONE_FITS = "profile_none_fits"


class NoProfileFits(Refusal):
    """No profile has the columns of this file."""


async def all_profiles(connection: Conn) -> dict[str, StatementProfile]:
    """All profiles. Those of operators come first, because operators wrote them for the files of their network."""
    found, own = {each.name: each for each in await store.find_profiles(connection)}, built_in()
    saved = {name: _saved(each) for name, each in found.items() if name not in own}
    return saved | {name: _with_said_words(each, found.get(name)) for name, each in own.items()}


def _saved(layout: SavedLayout) -> StatementProfile:
    """A profile that operators saved. Facts without a stored author, as older versions store them, count as stated by
    the operator who changed it last."""
    profile = saved_by(with_current_words(decode(layout.name, layout.text)), layout.saved_by)
    columns = layout.said_by.columns or layout.saved_by
    carrier = (layout.said_by.carrier or layout.saved_by) if profile.carrier else layout.said_by.carrier
    return replace(profile, said_by=LayoutOperators(columns=columns, carrier=carrier, words=_words_by(profile, layout)))


def _with_said_words(profile: StatementProfile, layout: SavedLayout | None) -> StatementProfile:
    """A profile of malipo's own, with the meanings that operators gave to words of its status column."""
    if layout is None:
        return profile
    words = msgspec.toml.decode(layout.text, type=_SaidWords)
    changed = with_status_words(profile, moved=words.completed, not_moved=words.failed, by=layout.saved_by)
    return replace(changed, said_by=LayoutOperators(words=_words_by(changed, layout)))


def _words_by(profile: StatementProfile, layout: SavedLayout) -> dict[str, str]:
    return {word: layout.said_by.words.get(word, name) for word, name in profile.said_by.words.items()}


class _SaidWords(msgspec.Struct):
    completed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


async def save_status_words(
    tx: Tx, name: str, *, moved: Sequence[str], not_moved: Sequence[str], actor: Actor, now: datetime
) -> StatementProfile:
    """Save the meanings of words of a layout's status column. Returns the layout with them."""
    await store.lock_profile(tx, name)
    before = await find_profile(tx, name)
    if both := folded_words(moved) & folded_words(not_moved):
        raise Invalid(code=ProfileRefusal.WORD_MEANS_BOTH, both=sorted(both))
    profile = with_status_words(before, moved=moved, not_moved=not_moved, by=actor.name)
    if before.completed and not profile.completed:
        raise Invalid(code=ProfileRefusal.NO_WORD_MOVED)
    if name in built_in():
        own = built_in()[name]
        own_words = {
            "completed": [each for each in profile.completed if each not in own.completed],
            "failed": [each for each in profile.failed if each not in own.failed],
        }
        text = "".join(f"{kind} = {_value(words)}\n" for kind, words in own_words.items())
    else:
        text = encode(profile)
    await store.put_profile(tx, SavedLayout(name, text, actor.name, profile.said_by), now=now)
    await audit_log.append(
        tx, actor, "statement_profile.words", now=now, name=name, moved=list(moved), not_moved=list(not_moved)
    )
    return profile


async def find_profile(connection: Conn, name: str) -> StatementProfile:
    profiles = await all_profiles(connection)
    if name not in profiles:
        raise Missing(code=ProfileRefusal.NO_SUCH, name=name, known=sorted(profiles))
    return profiles[name]


async def choose_profile(connection: Conn, path: Path, channel: Channel) -> StatementProfile:
    found = best_profile(path, channel, (await all_profiles(connection)).values())
    if found is None:
        raise NoProfileFits(code=ProfileRefusal.NONE_FITS, channel=channel, name=path.name)
    return found


def best_profile(path: Path, channel: Channel, profiles: Iterable[StatementProfile]) -> StatementProfile | None:
    """The profile with most of the file's columns; of several, the one with the fewest missing columns."""
    rows = first_rows(path)
    found = [
        (known, profile)
        for profile in profiles
        if channel in profile.channels and not profile.is_fetched and (known := _known_columns(profile, rows))
    ]
    return max(found, key=lambda each: (each[0], -len(each[1].columns)))[1] if found else None


def first_rows(path: Path) -> list[list[Cell]]:
    return list(islice(rows_of(path), MOST_ROWS_BEFORE_HEADER))


def _known_columns(profile: StatementProfile, rows: Iterable[list[Cell]]) -> int:
    found = (profile.columns_in([text_of(cell) for cell in row]) for row in rows)
    return max((len(columns) for columns in found if columns is not None), default=0)


async def save_if_new(tx: Tx, profile: StatementProfile, *, actor: Actor, now: datetime) -> None:
    """Save the layout that an operator defined, so that its next file is read without questions."""
    await store.lock_profile(tx, profile.name)
    if profile.name in await all_profiles(tx):
        return
    profile = saved_by(profile, actor.name)
    await store.put_profile(tx, SavedLayout(profile.name, encode(profile), actor.name, profile.said_by), now=now)
    await audit_log.append(tx, actor, "statement_profile.saved", now=now, name=profile.name)


def encode(profile: StatementProfile) -> str:
    """The profile as TOML, which people can read and change."""
    fields = msgspec.to_builtins(profile)
    lines = [f"{name} = {_value(fields[name])}" for name in ("title", "channels", "sign", "time_formats", "zone")]
    lines += [
        f"{name} = {_value(fields[name])}"
        for name in ("decimal_mark", "completed", "failed", "money_in", "money_out", "carrier")
        if fields[name]
    ]
    lines += ["", "[columns]", *(f"{name} = {_value(names)}" for name, names in fields["columns"].items())]
    for rule in fields["kinds"]:
        lines += ["", "[[kinds]]", *(f"{name} = {_value(value)}" for name, value in rule.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    """A value in TOML, which writes texts and lists of texts as JSON does."""
    return msgspec.json.encode(value).decode()
