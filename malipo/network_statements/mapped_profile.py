"""A profile of what a person said about the columns of a file. Pure."""

import re
from collections.abc import Sequence

import msgspec

from malipo.network_statements.guess_profile import Guess
from malipo.network_statements.profile import (
    DONE,
    FAILED,
    KindRule,
    LayoutOperators,
    StatementField,
    StatementProfile,
    built_in,
)
from malipo.network_statements.statement_line import LineKind
from malipo.network_statements.status_words import folded_words
from malipo.networks.connector import Channel

# This also matches words that customers write, but layouts saved by earlier versions have it.
_OLD_FEE = r"^[a-z ]*(fees?|charges?)\b"
_NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9-]{1,40}")


def is_free_name(name: str) -> bool:
    """Whether a layout may be called so: not as one of malipo's own."""
    return _NAME.fullmatch(name) is not None and name not in built_in()


def profile_of(found: Guess, channel: Channel, *, name: str) -> StatementProfile:
    assert found.sign is not None
    assert found.time_format is not None
    profile = StatementProfile(
        name=name,
        title=f"Saved for {channel}",
        channels=(channel,),
        sign=found.sign,
        columns={field: (found.header[number],) for field, number in found.columns.items()},
        time_formats=(found.time_format,),
        completed=found.moved if StatementField.STATUS in found.columns else (),
        failed=found.not_moved if StatementField.STATUS in found.columns else FAILED,
        decimal_mark=found.decimal_mark,
        money_in=found.money_in,
        money_out=found.money_out,
        kinds=built_in()["generic"].kinds,
    )
    return with_carrier(profile, found.carrier)


def with_carrier(profile: StatementProfile, carrier: str) -> StatementProfile:
    """An aggregator's account has the payments of all channels; without a carrier it is that of the network itself."""
    channels = tuple(Channel) if carrier else profile.channels
    return msgspec.structs.replace(profile, carrier=carrier, channels=channels)


def with_status_words(
    profile: StatementProfile, *, moved: Sequence[str], not_moved: Sequence[str], by: str
) -> StatementProfile:
    """The layout with more words for "money moved" or "it did not". A word that stood in the other list is removed from
    it. The person who said it last answers for the word; for malipo's own words nobody does."""
    said_moved, said_not = folded_words(moved), folded_words(not_moved)
    own = built_in().get(profile.name)
    own_moved, own_not = (DONE, FAILED) if own is None else (own.completed, own.failed)
    is_own = (said_moved & folded_words(own_moved)) | (said_not & folded_words(own_not))
    words = {word: name for word, name in profile.said_by.words.items() if word not in said_moved | said_not}
    words |= dict.fromkeys((said_moved | said_not) - is_own, by)
    completed = [each for each in profile.completed if not folded_words([each]) & (said_moved | said_not)]
    failed = [each for each in profile.failed if not folded_words([each]) & (said_moved | said_not)]
    return msgspec.structs.replace(
        profile,
        completed=(*completed, *(each.strip() for each in moved)),
        failed=(*failed, *(each.strip() for each in not_moved)),
        said_by=msgspec.structs.replace(profile.said_by, words=words),
    )


def saved_by(profile: StatementProfile, name: str) -> StatementProfile:
    """A new layout, of which this operator has said everything."""
    own = msgspec.structs.replace(
        profile, said_by=LayoutOperators(columns=name, carrier=name if profile.carrier else "")
    )
    return with_status_words(own, moved=own.completed, not_moved=own.failed, by=name)


def with_current_words(saved: StatementProfile) -> StatementProfile:
    """The layout with today's words, in place of the words of an earlier version that matched too much."""
    fees = next(rule for rule in built_in()["generic"].kinds if rule.kind is LineKind.FEE)
    kinds = tuple(fees if rule == KindRule(LineKind.FEE, _OLD_FEE) else rule for rule in saved.kinds)
    return saved if kinds == saved.kinds else msgspec.structs.replace(saved, kinds=kinds)
