"""When a checkpoint is signed: a table, written by hand."""

import pytest

from malipo.receipts.signing_decision import Act, Decision, SignedHead, SigningRefusal, Situation, decide

OLD, NOW, LATER = 100, 200, 300


def situation(**differs: object) -> Situation:
    """A log of ten leaves that this host has signed up to eight, and published."""
    usual: dict[str, object] = {
        "is_fenced": False,
        "log": NOW,
        "size": 10,
        "is_begun": True,
        "is_by_operator": False,
        "published": SignedHead(NOW, 8),
        "flushed": SignedHead(NOW, 8),
    }
    return Situation(**usual | differs)  # type: ignore[arg-type]


SIGN, NOTHING, FOLLOW, BEGIN, WIDEN, WAIT, FENCED = (
    Decision(each) for each in (Act.SIGN, Act.NOTHING, Act.FOLLOW, Act.BEGIN, Act.WIDEN, Act.WAIT, Act.FENCED)
)
NO_STATE, REWRITTEN, PUBLISHED, LATER_LOG = (Decision(Act.REFUSE, each) for each in SigningRefusal)

TABLE = [
    ("something is new", situation(), SIGN),
    ("nothing is new", situation(size=8), NOTHING),
    ("fenced", situation(is_fenced=True), FENCED),
    ("fenced, and the log is not the one that was signed", situation(is_fenced=True, size=5), FENCED),
    ("no worker has compared the database", situation(is_compared=False), WAIT),
    ("nor when the key is to change", situation(is_compared=False, is_key_to_change=True), WAIT),
    ("nor since a log has begun", situation(is_compared=False, is_begun=False, published=None, flushed=None), WAIT),
    ("fenced, and no worker has compared it since", situation(is_fenced=True, is_compared=False), FENCED),
    ("no log yet", situation(log=None, size=0, is_begun=False, published=None, flushed=None), NOTHING),
    ("no log since the restore", situation(log=None, size=0, is_begun=False), NOTHING),
    ("no log since the restore, and leaves before it", situation(log=None, is_left_open=True), Decision(Act.MAKE)),
    ("the key is to change", situation(is_key_to_change=True), Decision(Act.CHANGE_KEY)),
    ("the key is to change, nothing is new", situation(size=8, is_key_to_change=True), Decision(Act.CHANGE_KEY)),
    ("the key is to change, nothing is published", situation(published=None, is_key_to_change=True), SIGN),
    # Another host has begun the next log, or changed the key, without knowing what this one had signed.
    ("it had signed more", situation(flushed=SignedHead(OLD, 9), has_signed_more=True), WIDEN),
    ("it had signed more, and sees the other one sign", situation(has_signed_more=True, has_seen_news=True), WIDEN),
    ("it had signed more, and the log is another one", situation(size=7, has_signed_more=True), WIDEN),
    ("fenced, and it had signed more", situation(is_fenced=True, has_signed_more=True), FENCED),
    # A first log.
    ("the first log", situation(is_begun=False, published=None, flushed=None), BEGIN),
    ("the first log has begun", situation(published=None, flushed=None), SIGN),
    ("it died between flush and publication", situation(published=None, flushed=SignedHead(NOW, 9)), SIGN),
    ("it died there, and nothing came since", situation(published=None, flushed=SignedHead(NOW, 10)), SIGN),
    ("it died there later", situation(published=SignedHead(NOW, 5), flushed=SignedHead(NOW, 9)), SIGN),
    # Another host signs too.
    ("another host signs", situation(published=SignedHead(NOW, 9), has_seen_news=True), FOLLOW),
    ("another host signs, nothing is new", situation(published=SignedHead(NOW, 10), has_seen_news=True), FOLLOW),
    # It may have signed more, of which the database knows nothing since a restore that nobody noticed.
    ("another host has signed, and may be gone", situation(published=SignedHead(NOW, 9)), NO_STATE),
    # The database is not the one that was signed.
    ("the log is shorter", situation(size=7), REWRITTEN),
    ("the log has another root", situation(has_flushed_root=False), REWRITTEN),
    (
        "the published one has another root",
        situation(published=SignedHead(NOW, 9), has_published_root=False),
        PUBLISHED,
    ),
    ("a later log is lost", situation(flushed=SignedHead(LATER, 3)), LATER_LOG),
    ("a later log is lost, nothing published", situation(published=None, flushed=SignedHead(LATER, 3)), LATER_LOG),
    # The state folder was lost, or is new.
    ("lost", situation(flushed=None), NO_STATE),
    ("a new host, and another one signs", situation(flushed=None, has_seen_news=True), FOLLOW),
    (
        "lost, and a log of this epoch is new",
        situation(is_begun=False, published=SignedHead(OLD, 8), flushed=None),
        NO_STATE,
    ),
    (
        "lost, and an operator has begun another log",
        situation(is_begun=False, is_by_operator=True, published=SignedHead(OLD, 8), flushed=None),
        BEGIN,
    ),
    ("lost again in that log", situation(is_by_operator=True, flushed=None), NO_STATE),
    # After a restore, or when an operator has begun another log.
    ("another log", situation(is_begun=False, published=SignedHead(OLD, 8), flushed=SignedHead(OLD, 9)), BEGIN),
    ("another log has begun", situation(published=SignedHead(OLD, 8), flushed=SignedHead(OLD, 9)), SIGN),
    ("another host has begun it", situation(flushed=SignedHead(OLD, 9)), NO_STATE),
    ("another host has begun it and signs", situation(flushed=SignedHead(OLD, 9), has_seen_news=True), FOLLOW),
]


@pytest.mark.parametrize(("now", "decision"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_done(now: Situation, decision: Decision) -> None:
    assert decide(now) == decision
