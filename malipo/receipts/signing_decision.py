"""Whether a worker may sign the next checkpoint, by its state folder and the database. Pure.

A checkpoint is signed only if it extends the last one that this host has flushed. So a restored database cannot make
the log show two contents for the same places.
"""

from enum import Enum
from typing import NamedTuple

from malipo.errors import Code


class SignedHead(NamedTuple):
    """A signed checkpoint: its log and its number of leaves."""

    log: int
    size: int


class Act(Enum):
    NOTHING = "nothing"
    WAIT = "wait"  # until workers have compared the database with their marks: it may have been restored
    MAKE = "make"  # another log, for what no checkpoint of the one before a restore covers
    FENCED = "fenced"  # after a restore nothing is signed until operators have looked
    WIDEN = "widen"  # say in its handover up to which size this host had signed with a key
    BEGIN = "begin"  # the log's first entry
    FOLLOW = "follow"  # flush what another host has published
    CHANGE_KEY = "change_key"
    SIGN = "sign"
    REFUSE = "refuse"


class SigningRefusal(Code):
    """Why nothing is signed until an operator has decided."""

    NO_STATE = "receipt_log_no_state"  # the state folder was lost, is new or old, and no other host signs
    REWRITTEN = "receipt_log_rewritten"  # the database's log is not the one that this host has signed
    PUBLISHED = "receipt_log_published_differs"  # it is not the published one either
    LATER_LOG = "receipt_log_lost"  # this host has signed a later log, which the database does not know


class Situation(NamedTuple):
    is_fenced: bool
    log: int | None  # the current one; None: there is none yet
    size: int  # of its leaves, including the first
    is_begun: bool  # it has its first entry
    is_by_operator: bool  # an operator has begun it
    published: SignedHead | None  # the last one, of any log
    flushed: SignedHead | None  # the last one in this host's state folder
    has_flushed_root: bool = True  # the current log has the flushed root at the flushed size
    has_published_root: bool = True  # and the published one
    is_compared: bool = True  # workers have compared this server with their marks
    is_left_open: bool = False  # the log before the restore has leaves that no published checkpoint covers
    is_key_to_change: bool = False  # an operator has asked for a new key
    has_signed_more: bool = False  # this host, with a key that has handed over at a smaller size, or to none
    has_seen_news: bool = False  # since this worker started, another host has published a checkpoint of this log


class Decision(NamedTuple):
    act: Act
    refusal: SigningRefusal | None = None


def decide(now: Situation) -> Decision:
    if now.is_fenced:
        return Decision(Act.FENCED)
    if not now.is_compared:
        return Decision(Act.WAIT)
    if now.has_signed_more:
        return Decision(Act.WIDEN)
    if now.log is None:
        return Decision(Act.MAKE if now.is_left_open else Act.NOTHING)
    flushed, published = now.flushed, now.published
    if flushed is not None and flushed.log > now.log:
        return Decision(Act.REFUSE, SigningRefusal.LATER_LOG)
    is_published = published is not None and published.log == now.log
    if is_published and not now.has_published_root:
        return Decision(Act.REFUSE, SigningRefusal.PUBLISHED)
    if flushed is not None and flushed.log == now.log:
        return _of_this_log(now, flushed, published if is_published else None)
    if is_published:
        return _follow(now)
    if flushed is None and published is not None and not now.is_by_operator:
        return Decision(Act.REFUSE, SigningRefusal.NO_STATE)
    return Decision(Act.SIGN if now.is_begun else Act.BEGIN)


def _of_this_log(now: Situation, flushed: SignedHead, published: SignedHead | None) -> Decision:
    if flushed.size > now.size or not now.has_flushed_root:
        return Decision(Act.REFUSE, SigningRefusal.REWRITTEN)
    if published is not None and published.size > flushed.size:
        return _follow(now)
    if published is not None and now.is_key_to_change:
        return Decision(Act.CHANGE_KEY)
    if now.size > (0 if published is None else published.size):
        return Decision(Act.SIGN)
    return Decision(Act.NOTHING)


def _follow(now: Situation) -> Decision:
    """This host has not seen all of the log. Only a host that signs it now shows that nothing was lost meanwhile."""
    return Decision(Act.FOLLOW) if now.has_seen_news else Decision(Act.REFUSE, SigningRefusal.NO_STATE)
