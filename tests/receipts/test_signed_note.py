"""Signed notes, checkpoints, proofs and handovers: the vector of C2SP, and what is refused."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.receipts import checkpoint, handover, proof_text, signed_note
from malipo.receipts.checkpoint import TreeHead
from malipo.receipts.proof_text import Proof
from malipo.receipts.signed_note import NoteRefused, VerifierKey, parse_verifier_key

KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
NOTE = """This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
"""

ONE, TWO, THREE = (Ed25519PrivateKey.from_private_bytes(bytes([each]) * 32) for each in (1, 2, 3))
HEAD = TreeHead("pay.example.com/log/7", 5, bytes(range(32)))
TIME = 1_790_000_000


def verifier(key: Ed25519PrivateKey, name: str = HEAD.origin) -> VerifierKey:
    return VerifierKey(name, key.public_key().public_bytes_raw())


def test_the_example_of_the_specification_is_accepted() -> None:
    key, note = parse_verifier_key(KEY), signed_note.parse(NOTE)
    assert str(key) == KEY
    assert note.text == "This is an example message.\n"
    assert signed_note.is_signed_by(note, key)
    assert str(note) == NOTE


@pytest.mark.parametrize(
    "key",
    [
        "example.com/foo",
        "example.com/foo+530d903b+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530D903A+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/bar+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903a+BekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903a+AekyeRrm56hApGFk",
        "example .com+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
    ],
)
def test_a_key_that_is_written_wrong_is_refused(key: str) -> None:
    with pytest.raises(NoteRefused):
        parse_verifier_key(key)


@pytest.mark.parametrize(
    "note",
    [
        "",
        "text\n",
        NOTE[:-1],
        NOTE.replace("— ", "- "),
        NOTE.replace("\n\n", "\n"),
        NOTE.replace("message.", "message.\t"),
        NOTE.replace("message.", "message.\r"),
        NOTE.replace("=\n", "\n"),
        NOTE + "\n",
        NOTE.replace("example.com/foo ", "example.com/foo  "),
    ],
)
def test_what_is_no_note_is_refused(note: str) -> None:
    with pytest.raises(NoteRefused):
        signed_note.parse(note)


def test_a_known_key_that_has_not_signed_refuses_and_an_unknown_one_is_passed_over() -> None:
    key = parse_verifier_key(KEY)
    changed = signed_note.parse(NOTE.replace("an example", "another"))
    with pytest.raises(NoteRefused):
        signed_note.is_signed_by(changed, key)
    assert not signed_note.is_signed_by(changed, verifier(ONE))
    # An empty line in the text belongs to it: the signatures are after the last one.
    text = "one\n\ntwo\n"
    assert signed_note.parse(f"{text}\n{signed_note.sign(text, 'a', ONE)}").text == text


def test_a_checkpoint_is_read_back_with_its_time() -> None:
    note = checkpoint.sign(HEAD, ONE, time=TIME)
    opened = checkpoint.open_checkpoint(note, [verifier(TWO), verifier(ONE)])
    assert opened == checkpoint.Checkpoint(HEAD, TIME, verifier(ONE))
    assert note.startswith(
        f"pay.example.com/log/7\n5\n{base64.b64encode(HEAD.root).decode()}\n\n— pay.example.com/log/7 "
    )
    assert checkpoint.time_of(note) == TIME


def test_checkpoints_are_refused() -> None:
    note = checkpoint.sign(HEAD, ONE, time=TIME)
    lines = note.split("\n")
    other = checkpoint.sign(HEAD, ONE, time=TIME + 1).split("\n")
    refused = {
        "of another key": (note, verifier(TWO)),
        "of a key of another log": (note, verifier(ONE, "pay.example.com/log/8")),
        "another size": (note.replace("\n5\n", "\n6\n"), verifier(ONE)),
        "another origin": (note.replace("log/7", "log/8"), verifier(ONE, "pay.example.com/log/8")),
        "without the log's signature": ("\n".join([*lines[:4], *lines[5:]]), verifier(ONE)),
        "without a time": ("\n".join([*lines[:5], *lines[6:]]), verifier(ONE)),
        "a size with a zero before it": (note.replace("\n5\n", "\n05\n"), verifier(ONE)),
    }
    for what, (text, key) in refused.items():
        with pytest.raises(NoteRefused):
            raise AssertionError(what, checkpoint.open_checkpoint(text, [key]))
    # The time of another checkpoint is as true as its own: it is of the same tree.
    exchanged = "\n".join([*lines[:5], other[5], ""])
    assert checkpoint.open_checkpoint(exchanged, [verifier(ONE)]).time == TIME + 1


def test_a_proof_is_read_back() -> None:
    note = checkpoint.sign(HEAD, ONE, time=TIME)
    proof = Proof(3, (bytes(32), bytes([7]) * 32), note)
    assert proof_text.parse(str(proof)) == proof
    with_extra = str(proof).replace("\nindex", "\nextra QUJD\nindex")
    assert proof_text.parse(with_extra) == proof
    for wrong in (
        str(proof).replace("@v1", "@v2"),
        str(proof).replace("index 3", "index 03"),
        str(proof).replace("index 3", "index -3"),
        str(proof).replace("AAAA", "AAA*", 1),
        str(proof).replace("\n\n", "\n"),
        "",
    ):
        with pytest.raises(NoteRefused):
            checkpoint.open_checkpoint(proof_text.parse(wrong).checkpoint, [verifier(ONE)])


def test_a_handover_is_signed_by_both_keys() -> None:
    note = handover.sign(HEAD, ONE, TWO, new_name="pay.example.com/log/8")
    opened = handover.open_handover(note)
    assert opened == handover.Handover(verifier(ONE), HEAD, verifier(TWO, "pay.example.com/log/8"))
    lines = note.split("\n")
    for wrong in (
        note.replace("\n5\n", "\n9\n"),
        "\n".join([*lines[:6], *lines[7:]]),
        "\n".join([*lines[:7], *lines[8:]]),
        note.replace("handover v1", "handover v2"),
        checkpoint.sign(HEAD, ONE, time=TIME),
    ):
        with pytest.raises(NoteRefused):
            handover.open_handover(wrong)


def test_whoever_trusts_one_key_trusts_those_before_it_up_to_their_size_and_those_after_it() -> None:
    later = HEAD._replace(size=9)
    first = handover.open_handover(handover.sign(HEAD, ONE, TWO, new_name=HEAD.origin))
    second = handover.open_handover(handover.sign(later, TWO, THREE, new_name=HEAD.origin))
    all_ = {verifier(ONE): 5, verifier(TWO): 9, verifier(THREE): None}
    for given in (ONE, TWO, THREE):
        assert handover.trusted_keys([verifier(given)], [second, first]) == all_
    assert handover.trusted_keys([verifier(ONE)], []) == {verifier(ONE): None}
    assert handover.trusted_keys([verifier(THREE)], [first]) == {verifier(THREE): None}
    # Its host had signed more than another one knew: the larger size counts, in any order.
    wider = handover.open_handover(handover.sign(later, ONE, TWO, new_name=HEAD.origin))
    for handed in ([first, wider], [wider, first]):
        assert handover.trusted_keys([verifier(TWO)], handed) == {verifier(ONE): 9, verifier(TWO): None}
    # One key that hands over to two: one of them is a thief's.
    forged = handover.open_handover(handover.sign(later, ONE, THREE, new_name=HEAD.origin))
    assert handover.trusted_keys([verifier(ONE)], [first, forged]) == {verifier(ONE): None}
