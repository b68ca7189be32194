"""Ways to forge a receipt: each changes an honest one, or its surroundings, so that it says something else."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from malipo.receipts import checkpoint, handover, signed_note
from malipo.receipts.fact import commitment_of
from malipo.receipts.signed_note import Note, VerifierKey
from tests.receipts.generated_log import GeneratedLog, IssuedReceipt, World, as_text


@dataclass(frozen=True)
class Case:
    """What a verifier is given."""

    receipt: str
    keys: list[str]
    handovers: list[str] = field(default_factory=list)
    older: str = ""
    consistency: list[str] = field(default_factory=list)


Receipt = dict[str, Any]


def honest(world: World, issued: IssuedReceipt) -> Case:
    notes = {log.number: log.checkpoints[-1] for log in world.logs}
    return Case(json.dumps(issued.proven(notes)), world.keys[-1:], world.handovers)


def with_older(world: World, issued: IssuedReceipt) -> Case:
    """With an earlier checkpoint of its log, and the proof that the receipt's extends it."""
    log = issued.lines[-1][2]
    old, new = checkpoint.head_of(log.checkpoints[0]).size, checkpoint.head_of(log.checkpoints[-1]).size
    return replace(honest(world, issued), older=log.checkpoints[0], consistency=log.consistency(old, new))


def _said(case: Case, change: Callable[[Receipt], object]) -> Case:
    receipt = json.loads(case.receipt)
    change(receipt)
    return replace(case, receipt=json.dumps(receipt))


def _fact(case: Case, change: Callable[[Receipt], object]) -> Case:
    """In the fact, written as it must be, and in the receipt outside of it."""

    def both(receipt: Receipt) -> None:
        fact = json.loads(receipt["facts"][0]["fact"])
        change(fact)
        receipt["facts"][0]["fact"] = json.dumps(fact, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        for name in ("reference", "type", "amount", "currency", "channel", "phone"):
            receipt[name] = fact[name]
        receipt["id"], receipt["completedAt"] = fact["payment"], fact["at"]
        if "networkReceipt" in fact:
            receipt["providerReference"] = fact["networkReceipt"]

    return _said(case, both)


def _line(case: Case, change: Callable[[Receipt], object]) -> Case:
    return _said(case, lambda receipt: change(receipt["facts"][0]))


def _proof(case: Case, change: Callable[[str], str]) -> Case:
    return _line(case, lambda line: line.update(proof=change(line["proof"])))


def _path(case: Case, change: Callable[[list[str]], object]) -> Case:
    def changed(proof: str) -> str:
        head, _, note = proof.partition("\n\n")
        lines = head.split("\n")
        path = lines[2:]
        change(path)
        return "\n".join([*lines[:2], *path]) + "\n\n" + note

    return _proof(case, changed)


def _note(case: Case, change: Callable[[str], str]) -> Case:
    def changed(proof: str) -> str:
        head, _, note = proof.partition("\n\n")
        return head + "\n\n" + change(note)

    return _proof(case, changed)


def _without_line(note: str, place: int) -> str:
    lines = note.split("\n")
    return "\n".join([*lines[:place], *lines[place + 1 :]])


def _flipped(text: str) -> str:
    data = bytearray(base64.b64decode(text))
    data[7] ^= 1
    return base64.b64encode(data).decode()


# Each is given an honest case of a collection in the second log with one fact, and what it was made of.
Forgery = Callable[[World, IssuedReceipt, Case], Case]


def _own_log(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """A log of the forger's own, with the same name."""
    text, salt, log, _ = issued.lines[0]
    fact = json.loads(text)
    fact["amount"] += 1
    text = json.dumps(fact, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    own = GeneratedLog(log.number, world.thief)
    leaf = own.append(commitment_of(salt, text))
    proof = own.prove(leaf, own.sign(1_793_000_000))
    receipt = json.loads(case.receipt) | {"amount": fact["amount"]}
    receipt["facts"] = [{"kind": "completed", "fact": text, "salt": salt.hex(), "proof": proof}]
    return replace(case, receipt=json.dumps(receipt))


def _retired_key(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The first key signs once more, after it has handed over."""
    log = world.logs[0]
    old = next(each for each in world.issued if each.lines[0][2] is log and len(each.lines) == 1)
    note = checkpoint.sign(log.head(), world.secrets[0], time=1_793_000_000)
    return replace(case, receipt=json.dumps(old.proven({log.number: note})))


def _own_log_by_retired_key(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """Whoever has stolen the first key goes on with a log of their own."""
    log = world.logs[0]
    old = next(each for each in world.issued if each.lines[0][2] is log and len(each.lines) == 1)
    fork = _fork(log, log.size)
    note = checkpoint.sign(fork.head(), world.secrets[0], time=1_793_000_000)
    lines = [(text, salt, fork, leaf) for text, salt, _, leaf in old.lines]
    return replace(case, receipt=json.dumps(IssuedReceipt(old.receipt, lines).proven({log.number: note})))


def _fork(log: GeneratedLog, size: int) -> GeneratedLog:
    """The same but for its last leaf, and one more."""
    fork = GeneratedLog(log.number, log.key, previous=log.previous)
    fork.nodes, fork.size = dict(log.nodes), size - 1
    fork.append(b"forged")
    fork.append(b"forged too")
    return fork


def _rewritten(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The log's own key signs another history after a checkpoint that somebody holds."""
    text, salt, log, leaf = issued.lines[0]
    fork = GeneratedLog(log.number, log.key, previous=log.previous)
    for number in range(1, log.size):
        fork.append(commitment_of(salt, text) if number == leaf else b"%d" % number)
    note = fork.sign(1_793_000_001)
    receipt = json.dumps(IssuedReceipt(issued.receipt, [(text, salt, fork, leaf)]).proven({log.number: note}))
    held = checkpoint.head_of(log.checkpoints[0]).size
    return replace(case, receipt=receipt, older=log.checkpoints[0], consistency=fork.consistency(held, fork.size))


def _rewritten_same_size(world: World, issued: IssuedReceipt, case: Case) -> Case:
    rewritten = _rewritten(world, issued, case)
    return replace(rewritten, older=issued.lines[0][2].checkpoints[-1], consistency=[])


def _fork_below(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """A payment by a fork of the log, and its refund by the log itself, with a larger checkpoint that extends all."""
    refunded = next(
        each
        for each in world.issued
        if len(each.lines) == 2 and "refundedAmount" in each.receipt and each.lines[0][2] is each.lines[1][2]
    )
    (text, salt, log, leaf), refund = refunded.lines
    held, last = log.checkpoints[0], log.checkpoints[-1]
    fork = GeneratedLog(log.number, log.key, previous=log.previous)
    for number in range(1, leaf + 2):
        fork.append(commitment_of(salt, text) if number == leaf else b"%d" % number)
    lines = [(text, salt, fork, leaf), refund]
    honest = refunded.proven({log.number: last})
    forged = IssuedReceipt(refunded.receipt, lines[:1]).proven({log.number: fork.sign(1_793_000_003)})
    receipt = honest | {"facts": [forged["facts"][0], honest["facts"][1]]}
    sizes = [checkpoint.head_of(each).size for each in (held, last)]
    return replace(case, receipt=json.dumps(receipt), older=held, consistency=log.consistency(*sizes))


def _newer_first(world: World, issued: IssuedReceipt, case: Case) -> Case:
    log = issued.lines[0][2]
    sizes = [checkpoint.head_of(each).size for each in log.checkpoints]
    small = next(each for each in log.checkpoints if checkpoint.head_of(each).size > issued.lines[0][3])
    assert small != log.checkpoints[-1]
    return replace(
        case,
        receipt=json.dumps(issued.proven({log.number: small})),
        older=log.checkpoints[-1],
        consistency=log.consistency(checkpoint.head_of(small).size, max(sizes)),
    )


def _truncated_tree(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """A checkpoint from before the leaf."""
    log = issued.lines[0][2]
    small = next(each for each in log.checkpoints if checkpoint.head_of(each).size <= issued.lines[0][3])
    return _note(case, lambda _: small)


def _handover_by_one(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """A thief hands over to a key of theirs, without the key that is trusted."""
    log = issued.lines[0][2]
    owned = _own_log(world, issued, case)
    mine = VerifierKey(log.origin, world.thief.public_key().public_bytes_raw())
    head = log.head()
    text = f"malipo receipt log handover v1\n{world.keys[2]}\n{head.size}\n{as_text(head.root)}\n{mine}\n"
    note = str(Note(text, (signed_note.sign(text, log.origin, world.thief),)))
    return replace(owned, handovers=[*world.handovers, note])


def _handover_to_two(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The first key was stolen after it handed over, and hands over once more."""
    log = world.logs[0]
    owned = _own_log(world, issued, case)
    size = handover.open_handover(world.handovers[0]).last.size
    stolen = handover.sign(log.head(size), world.secrets[0], world.thief, new_name=world.logs[1].origin)
    return replace(owned, keys=world.keys[:1], handovers=[*world.handovers, stolen])


def _grown_handover(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The retired key is said to count for more than both have signed."""
    by_old = _own_log_by_retired_key(world, issued, case)
    size = handover.open_handover(world.handovers[0]).last.size
    changed = world.handovers[0].replace(f"\n{size}\n", "\n999999999\n")
    return replace(by_old, handovers=[changed, *world.handovers[1:]])


def _wider_handover_by_the_old_key(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """A thief of the retired key says alone that it counts for more."""
    by_old = _own_log_by_retired_key(world, issued, case)
    grown = world.handovers[0].split("\n\n")[0].split("\n")
    text = "\n".join([*grown[:2], "999999999", *grown[3:]]) + "\n"
    note = str(Note(text, (signed_note.sign(text, world.logs[0].origin, world.secrets[0]),)))
    return replace(by_old, handovers=[*world.handovers, note])


def _duplicate_key_leaf(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The log itself commits to a fact that says two amounts."""
    text, salt, log, _ = issued.lines[0]
    twice = text.replace('{"amount":', '{"amount":1,"amount":', 1)
    grown = GeneratedLog(log.number, log.key, previous=log.previous)
    leaf = grown.append(commitment_of(salt, twice))
    proof = grown.prove(leaf, grown.sign(1_793_000_002))
    return _line(case, lambda line: line.update(fact=twice, proof=proof))


def _other_origin(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """A key of one log signs for another."""
    log = issued.lines[0][2]
    head = log.head()._replace(origin=world.logs[0].origin)
    text = str(head)
    note = Note(
        text, (signed_note.sign(text, log.origin, log.key), signed_note.cosign(text, log.origin, log.key, time=1))
    )
    return _note(case, lambda _: str(note))


def _cosigned_by_other(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The time is signed by somebody else in the log's name."""
    log = issued.lines[0][2]
    text = str(log.head())
    note = Note(
        text,
        (signed_note.sign(text, log.origin, log.key), signed_note.cosign(text, log.origin, world.thief, time=1)),
    )
    return _note(case, lambda _: str(note))


def _time_changed(world: World, issued: IssuedReceipt, case: Case) -> Case:
    def later(note: str) -> str:
        [line] = re.findall(r"— \S+ (\S+)\n\Z", note)
        data = bytearray(base64.b64decode(line))
        data[11] ^= 1
        return note.replace(line, base64.b64encode(data).decode())

    return _note(case, later)


def _swapped(world: World, issued: IssuedReceipt, case: Case) -> Case:
    other = next(each for each in world.issued if each is not issued and each.lines[0][2] is issued.lines[0][2])
    proof = json.loads(honest(world, other).receipt)["facts"][0]["proof"]
    return _line(case, lambda line: line.update(proof=proof))


def _other_receipts_fact(world: World, issued: IssuedReceipt, case: Case) -> Case:
    other = next(each for each in world.issued if each is not issued and each.lines[0][2] is issued.lines[0][2])
    line = json.loads(honest(world, other).receipt)["facts"][0]
    return _said(case, lambda receipt: receipt["facts"].append(line))


def _refund_hidden(world: World, issued: IssuedReceipt, case: Case) -> Case:
    refunded = next(each for each in world.issued if len(each.lines) == 2 and "refundedAmount" in each.receipt)
    return _said(honest(world, refunded), lambda receipt: receipt.pop("refundedAmount"))


def _refund_smaller(world: World, issued: IssuedReceipt, case: Case) -> Case:
    refunded = next(each for each in world.issued if len(each.lines) == 2 and "refundedAmount" in each.receipt)
    return _said(honest(world, refunded), lambda receipt: receipt.update(refundedAmount=receipt["refundedAmount"] - 1))


def _refund_larger(world: World, issued: IssuedReceipt, case: Case) -> Case:
    refunded = next(each for each in world.issued if len(each.lines) == 2 and "refundedAmount" in each.receipt)
    return _said(honest(world, refunded), lambda receipt: receipt.update(refundedAmount=receipt["refundedAmount"] + 1))


def _correction_moved(world: World, issued: IssuedReceipt, case: Case) -> Case:
    corrected = next(each for each in world.issued if "correction" in each.receipt)
    later = {"correctedAt": "2027-01-01T00:00:00.000Z"}
    return _said(honest(world, corrected), lambda receipt: receipt["correction"].update(later))


def _correction_hidden(world: World, issued: IssuedReceipt, case: Case) -> Case:
    corrected = next(each for each in world.issued if "correction" in each.receipt)
    return _said(honest(world, corrected), lambda receipt: receipt.pop("correction"))


def _correction_turned_round(world: World, issued: IssuedReceipt, case: Case) -> Case:
    corrected = next(each for each in world.issued if each.receipt.get("correction", {}).get("outcome") == "FAILED")
    return _said(honest(world, corrected), lambda receipt: receipt["correction"].update(outcome="COMPLETED"))


def _refund_as_payment(world: World, issued: IssuedReceipt, case: Case) -> Case:
    """The fact of a refund alone, as if it were the receipt of a payment."""
    refunded = next(each for each in world.issued if len(each.lines) == 2 and "refundedAmount" in each.receipt)

    def change(receipt: Receipt) -> None:
        line = receipt["facts"].pop()
        fact = json.loads(line["fact"])
        receipt["facts"] = [line]
        receipt |= {name: fact[name] for name in ("reference", "type", "amount", "channel", "phone")}
        receipt["completedAt"] = fact["at"]
        receipt.pop("providerReference", None)

    return _said(honest(world, refunded), change)


FORGERIES: dict[str, Forgery] = {
    "another amount in the receipt": lambda _w, _t, c: _said(c, lambda r: r.update(amount=r["amount"] + 1)),
    "another amount in both": lambda _w, _t, c: _fact(c, lambda f: f.update(amount=f["amount"] + 1)),
    "an amount that is text": lambda _w, _t, c: _said(c, lambda r: r.update(amount=str(r["amount"]))),
    "another merchant": lambda _w, _t, c: _fact(c, lambda f: f.update(merchant="mer_forged")),
    "another merchant's name": lambda _w, _t, c: _fact(c, lambda f: f.update(merchantName="Forged Ltd")),
    "a TIN of somebody else": lambda _w, _t, c: _said(c, lambda r: r["merchant"].update(tin="987654321")),
    "another merchant's name in the receipt": lambda _w, _t, c: _said(
        c, lambda r: r["merchant"].update(name="Forged Ltd")
    ),
    "another registered name in the receipt": lambda _w, _t, c: _said(
        c, lambda r: r["merchant"].update(registeredName="Forged Ltd")
    ),
    "another number": lambda _w, _t, c: _fact(c, lambda f: f.update(phone="+2557*****777")),
    "another number in the receipt": lambda _w, _t, c: _said(c, lambda r: r.update(phone="+2557*****777")),
    "another receipt number": lambda _w, _t, c: _fact(c, lambda f: f.update(networkReceipt="FORGED")),
    "another receipt number in the receipt": lambda _w, _t, c: _said(c, lambda r: r.update(providerReference="FORGED")),
    "another time": lambda _w, _t, c: _fact(c, lambda f: f.update(at="2027-01-01T00:00:00.000Z")),
    "another time in the receipt": lambda _w, _t, c: _said(
        c, lambda r: r.update(completedAt="2027-01-01T00:00:00.000Z")
    ),
    "another network": lambda _w, _t, c: _fact(c, lambda f: f.update(channel="FORGED")),
    "another payment": lambda _w, _t, c: _fact(c, lambda f: f.update(payment="txn_forged")),
    "another reference": lambda _w, _t, c: _fact(c, lambda f: f.update(reference="MLP-FORGED")),
    "a payout as a collection": lambda _w, _t, c: _fact(c, lambda f: f.update(type="DISBURSEMENT")),
    "another status": lambda _w, _t, c: _said(c, lambda r: r.update(status="PENDING")),
    "another kind": lambda _w, _t, c: _line(c, lambda x: x.update(kind="refunded")),
    "a fact with spaces": lambda _w, _t, c: _line(c, lambda x: x.update(fact=x["fact"].replace(":", ": ", 1))),
    "a fact with a name twice, that the log has": _duplicate_key_leaf,
    "a receipt with a name twice": lambda _w, _t, c: replace(c, receipt='{"amount": 1, ' + c.receipt[1:]),
    "another salt": lambda _w, _t, c: _line(c, lambda x: x.update(salt="00" * 32)),
    "a short salt": lambda _w, _t, c: _line(c, lambda x: x.update(salt=x["salt"][2:])),
    "the proof of another receipt": _swapped,
    "another index": lambda _w, _t, c: _proof(
        c, lambda p: re.sub(r"index (\d+)", lambda found: f"index {int(found[1]) ^ 1}", p, count=1)
    ),
    "an index beyond the tree": lambda _w, _t, c: _proof(
        c, lambda p: re.sub(r"index \d+", "index 999999999", p, count=1)
    ),
    "a path with a hash changed": lambda _w, _t, c: _path(c, lambda path: path.__setitem__(0, _flipped(path[0]))),
    "a path in another order": lambda _w, _t, c: _path(c, lambda path: path.reverse()),
    "a path that is too short": lambda _w, _t, c: _path(c, lambda path: path.pop()),
    "a path that is too long": lambda _w, _t, c: _path(c, lambda path: path.append(path[-1])),
    "no path": lambda _w, _t, c: _path(c, lambda path: path.clear()),
    "a truncated tree": _truncated_tree,
    "another size in the checkpoint": lambda _w, _t, c: _note(
        c, lambda note: re.sub(r"\n(\d+)\n", lambda found: f"\n{int(found[1]) + 1}\n", note, count=1)
    ),
    "another root in the checkpoint": lambda _w, t, c: _note(
        c, lambda note: note.replace(as_text(t.lines[0][2].head().root), as_text(bytes(32)))
    ),
    "a checkpoint of another log": _other_origin,
    "a checkpoint without a signature": lambda _w, _t, c: _note(c, lambda note: _without_line(note, 4)),
    "a checkpoint without a time": lambda _w, _t, c: _note(c, lambda note: _without_line(note, 5)),
    "a checkpoint with another time": _time_changed,
    "a time that somebody else has signed": _cosigned_by_other,
    "a log of the forger's own": _own_log,
    "a key that was retired": _retired_key,
    "a log of a thief of the retired key": _own_log_by_retired_key,
    "a handover that one key has signed": _handover_by_one,
    "a second handover of a stolen key": _handover_to_two,
    "a handover that says another size": _grown_handover,
    "a wider handover that the retired key alone has signed": _wider_handover_by_the_old_key,
    "a history that was rewritten": _rewritten,
    "a history that was rewritten at the same size": _rewritten_same_size,
    "a fork behind a larger checkpoint": _fork_below,
    "an older checkpoint that is the newer one": _newer_first,
    "a fact of another receipt": _other_receipts_fact,
    "a fact twice": lambda _w, _t, c: _said(c, lambda r: r["facts"].append(r["facts"][0])),
    "no fact": lambda _w, _t, c: _said(c, lambda r: r["facts"].clear()),
    "a refund that is hidden": _refund_hidden,
    "a refund that is made smaller": _refund_smaller,
    "a refund that is made larger": _refund_larger,
    "a refund that never was": lambda _w, _t, c: _said(c, lambda r: r.update(refundedAmount=1000)),
    "a correction that never was": lambda _w, _t, c: _said(
        c, lambda r: r.update(correction={"outcome": "FAILED", "correctedAt": "2026-11-15T08:30:12.480Z"})
    ),
    "a correction at another time": _correction_moved,
    "a correction that is hidden": _correction_hidden,
    "a correction that is turned round": _correction_turned_round,
    "a refund as a payment": _refund_as_payment,
}


def subject_of(world: World) -> IssuedReceipt:
    """A collection with one fact in the second log, not near its ends."""
    return next(
        each
        for each in world.issued[len(world.issued) * 5 // 8 :]
        if len(each.lines) == 1 and each.receipt["type"] == "COLLECTION" and "providerReference" in each.receipt
    )
