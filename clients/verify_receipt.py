#!/usr/bin/env python3
"""Verify receipts of malipo offline, with the public keys of their log. One file, Python 3.9 or newer, nothing else.

    python3 verify_receipt.py receipt.json --key 'pay.example.com/log/1790000000+1a2b3c4d+AV…'
    python3 verify_receipt.py receipt.json --key … --keys keys.json             # after a change of keys, or a restore
    python3 verify_receipt.py receipt.json --key … --older checkpoint.txt --tiles FOLDER
    python3 verify_receipt.py receipt.json --key … --older checkpoint.txt --consistency proof.txt

receipt.json is what GET /v1/payments/ID/receipt answers, or the file that the receipt's page offers. Get the key from
the operator once, and keep it: what is not signed by it, or by one that it hands over to (GET /log/keys), is refused.
Exit code 0: true. 1: refused. 2: no checkpoint covers it yet, or it was erased. The formats: docs/receipt-log.md.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path


class Refused(Exception):
    """It is not true, or cannot be told."""


WRONG = (Refused, ValueError, KeyError, TypeError, AttributeError, IndexError)  # what something forged may raise


def require(condition, why):
    if not condition:
        raise Refused(why)


# 1. Signatures: Ed25519 (RFC 8032), verification only. A point is X, Y, Z and XY/Z.

P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def point_of(data):
    number = int.from_bytes(data, "little")
    y, sign = number & (1 << 255) - 1, number >> 255
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    require(y < P and (x * x - x2) % P == 0 and (x or not sign), "a point of a signature is wrong")
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P


def multiply(number, point):
    product = (0, 1, 1, 0)
    while number:
        if number & 1:
            product = add(product, point)
        point, number = add(point, point), number >> 1
    return product


BASE = point_of(b"\x58" + b"\x66" * 31)


@lru_cache(maxsize=1000)
def verify(public_key, signature, message):
    require(len(signature) == 64, "a signature is wrong")
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(r + public_key + message).digest(), "little") % Q
    left, right = multiply(s, BASE), add(point_of(r), multiply(k, point_of(public_key)))
    same = (left[0] * right[2] - right[0] * left[2]) % P == 0 == (left[1] * right[2] - right[1] * left[2]) % P
    require(s < Q and same, "a signature is wrong")


# 2. Keys, signed notes and checkpoints (C2SP).


def decode(text, length=None):
    data = base64.b64decode(text, validate=True)
    require(base64.b64encode(data).decode() == text and length in (None, len(data)), "base64 is wrong")
    return data


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def key_of(vkey):
    """The name and the public key in NAME+ID+BASE64."""
    name, key_id, encoded = vkey.split("+", 2)
    data = decode(encoded, 33)
    require(data[0] == 1 and sha256(name.encode(), b"\n", data)[:4].hex() == key_id, "a key is wrong")
    return name, data[1:]


def signed(note, key):
    """The text of a note, and the time that the key has signed with it, if any. None if the key has not signed it."""
    text, blank, lines = note.rpartition("\n\n")
    is_note = blank and lines.endswith("\n") and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", note)
    require(is_note, "not a signed note")
    (name, public), text, is_signed, time = key, text + "\n", False, None
    for line in lines[:-1].split("\n"):
        match = re.fullmatch(r"— ([^\s+]+) (\S+)", line)
        require(match, "a signature line is wrong")
        data = decode(match[2])
        if match[1] == name and data[:4] == sha256(name.encode(), b"\n\x01", public)[:4]:
            verify(public, data[4:], text.encode())
            is_signed = True
        if match[1] == name and data[:4] == sha256(name.encode(), b"\n\x04", public)[:4]:
            time = int.from_bytes(data[4:12], "big")
            verify(public, data[12:], f"cosignature/v1\ntime {time}\n{text}".encode())
    return (text, time) if is_signed else None


def head_of(text):
    """The log, size and root of a checkpoint."""
    match = re.fullmatch(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([^\n]{44})\n", text)
    require(match, "a checkpoint is wrong")
    return match[1], int(match[2]), decode(match[3], 32)


def open_checkpoint(note, trusted):
    """Its log, size, root and time. `trusted`: keys, each with the last size that it may sign, or None."""
    for key, limit in trusted.items():
        found = signed(note, key) if note.startswith(key[0] + "\n") else None
        if found:
            (log, size, root), time = head_of(found[0]), found[1]
            require(limit is None or size <= limit, "the key was retired before this checkpoint")
            require(time is not None, "the checkpoint has no signed time")
            return log, size, root, time
    raise Refused("no trusted key has signed the checkpoint")


def follow(trusted, handovers):
    """Trust the keys to which trusted ones have handed over, and those from which trusted ones have taken over."""
    known = {}
    for note in handovers:
        first, old, size, root, new = note.partition("\n\n")[0].split("\n")
        old, new, (_, size, _) = key_of(old), key_of(new), head_of(f"-\n{size}\n{root}\n")
        is_signed = first == "malipo receipt log handover v1" and signed(note, old) and signed(note, new)
        require(is_signed, "a handover is wrong, or not signed by both keys")
        largest, only = known.get(old, (size, new))
        require(new == only, "a key was handed over to two others")
        known[old] = max(size, largest), new
    while following := [old for old, (_, new) in known.items() if old in trusted or new in trusted]:
        for old in following:
            trusted[old], new = known.pop(old)
            trusted.setdefault(new, None)
    return trusted


# 3. The tree (RFC 9162). Left of a node is the largest complete tree that leaves something for the right.


def node(left, right):
    return sha256(b"\1", left, right)


def left_of(size):
    return 1 << (size - 1).bit_length() - 1


def root_above(leaf, index, size, path):
    """The root to which a path leads: the siblings from the leaf upwards."""
    if size == 1:
        require(index == 0 and not path, "the proof is too long")
        return leaf
    require(path, "the proof is too short")
    left, sibling = left_of(size), path[-1]
    if index < left:
        return node(root_above(leaf, index, left, path[:-1]), sibling)
    return node(sibling, root_above(leaf, index - left, size - left, path[:-1]))


def roots_above(old, new, path, old_root):
    """The roots of an older and a newer tree, by a consistency proof. `old_root`: None inside of the older tree."""
    if old == new:
        known = [*path] if old_root is None else [old_root, *path]
        require(len(known) == 1, "the consistency proof has a wrong length")
        return known[0], known[0]
    require(path, "the consistency proof is too short")
    left, sibling = left_of(new), path[-1]
    if old <= left:
        first, second = roots_above(old, left, path[:-1], old_root)
        return first, node(second, sibling)
    first, second = roots_above(old - left, new - left, path[:-1], None)
    return node(sibling, first), node(sibling, second)


def root_of(hashes):
    """The root of a tree with these hashes of leaves."""
    if len(hashes) == 1:
        return hashes[0]
    left = left_of(len(hashes))
    return node(root_of(hashes[:left]), root_of(hashes[left:]))


def tile_paths(size):
    """The paths of the tiles with all hashes of leaves, as /log/NUMBER/tile/ has them."""
    for number in range(-(-size // 256)):
        width = min(256, size - number * 256)
        digits = f"{number:,}".split(",")
        groups = [f"x{int(each):03}" for each in digits[:-1]] + [f"{int(digits[-1]):03}"]
        yield "0/" + "/".join(groups) + (f".p/{width}" if width < 256 else "")


# 4. Receipts.


def load(text):
    def once(pairs):
        require(len({name for name, _ in pairs}) == len(pairs), "a name stands twice in the receipt")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def verify_fact(line, trusted):
    """What it says, the checkpoint that covers it, and the index of its leaf."""
    text, salt = line["fact"], bytes.fromhex(line["salt"])
    fact = load(text)
    canonical = json.dumps(fact, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    require(canonical == text and len(salt) == 32 and fact["version"] == 1, "a fact is wrong")
    require(line["kind"] == fact["fact"], "the receipt says something else than its proof")
    match = re.fullmatch(
        r"c2sp\.org/tlog-proof@v1\n(?:extra [^\n]*\n)?index (0|[1-9][0-9]{0,18})\n((?:[^\n]+\n)*)\n(.*)",
        line["proof"],
        re.DOTALL,
    )
    require(match, "a proof is wrong")
    head, index = open_checkpoint(match[3], trusted), int(match[1])
    path = [decode(each, 32) for each in match[2].split("\n")[:-1]]
    leaf = sha256(b"\0", sha256(salt, text.encode()))
    require(index < head[1], "the leaf is not in the tree")
    require(root_above(leaf, index, head[1], path) == head[2], "the proof does not lead to the checkpoint")
    return fact, head, index


def verify_receipt(receipt, trusted):
    """What each line says, with its checkpoint and the index of its leaf."""
    found = [verify_fact(line, trusted) for line in receipt["facts"]]
    require(found, "nothing is proven")
    require(len({(head[0], index) for _, head, index in found}) == len(found), "a fact stands there twice")
    heads = {head[:3] for _, head, _ in found}
    require(len({head[0] for head in heads}) == len(heads), "the receipt has two checkpoints of one log")
    first, merchant = found[0][0], receipt["merchant"]
    is_completed = first["fact"] == "completed"
    said_and_proven = [
        (receipt["id"], first["payment"]),
        *((receipt.get(name), first[name]) for name in ("reference", "type", "amount", "currency", "channel", "phone")),
        (receipt.get("providerReference"), first.get("networkReceipt")),
        (receipt.get("completedAt"), first["at"] if is_completed else None),
        (receipt["status"] == "COMPLETED", is_completed),
        (merchant.get("name"), first["merchantName"]),
        (merchant.get("registeredName"), first.get("merchantRegisteredName")),
        (merchant.get("tin"), first.get("merchantTin")),
    ]
    is_same = "refund" not in first and all(said == proven for said, proven in said_and_proven)
    require(is_same, "the receipt differs from its proof")
    known, refunds, correction = set(), {}, None
    for fact in sorted((fact for fact, _, _ in found), key=lambda fact: fact.get("ordinal", 0)):
        same = all(fact[name] == first[name] for name in ("payment", "merchant"))
        require(same, "the receipt has facts of another payment")
        kind, refund, name = fact["fact"], fact.get("refund"), (fact["fact"], fact.get("refund"), fact.get("ordinal"))
        require(name not in known and (kind != "refunded" or refund), "a fact stands there twice")
        known.add(name)
        if kind == "refunded" or (kind == "corrected" and refund):
            refunds[refund] = fact["amount"] if fact.get("outcome", "COMPLETED") == "COMPLETED" else 0
        elif kind == "corrected":
            correction = fact["outcome"], fact["at"]
    require(receipt.get("refundedAmount", 0) == sum(refunds.values()), "the receipt says another sum of refunds")
    said = receipt.get("correction")
    said = said and (said["outcome"], said["correctedAt"])
    require(said == correction, "the receipt hides a correction, or says another one")
    return found


def heads_of(found, older, trusted):
    """An older checkpoint, and the receipt's of the same log. It has but one of each log."""
    old, heads = open_checkpoint(older, trusted), {head[0]: head for _, head, _ in found}
    require(old[0] in heads, "the two checkpoints are of two logs")
    require(0 < old[1] <= heads[old[0]][1], "the newer checkpoint is the smaller one")
    return old, heads[old[0]]


def verify_tiles(found, older, folder, trusted):
    """That the receipt's checkpoint extends an older one: both are of the same leaves, which the folder has."""
    old, new = heads_of(found, older, trusted)
    tiles = b"".join(Path(folder, path).read_bytes() for path in tile_paths(new[1]))
    hashes = [tiles[at : at + 32] for at in range(0, len(tiles), 32)]
    is_whole = len(tiles) == 32 * new[1] and root_of(hashes) == new[2]
    require(is_whole, "the tiles are not those of the newer checkpoint")
    require(root_of(hashes[: old[1]]) == old[2], "the newer checkpoint does not extend the older one")


def verify_consistency(found, older, proof, trusted):
    """The same by a consistency proof."""
    old, new = heads_of(found, older, trusted)
    roots = roots_above(old[1], new[1], [decode(each, 32) for each in proof], old[2])
    require(roots == (old[2], new[2]), "the newer checkpoint does not extend the older one")


def read(path):
    return Path(path).read_text(encoding="utf-8")


def verify_files(given):
    """What each line says, with its checkpoint; None if not all of them are proven yet."""
    receipt, trusted = load(read(given.receipt)), {key_of(each): None for each in given.key}
    receipt = receipt.get("receipt", receipt)
    if given.keys:
        follow(trusted, load(read(given.keys))["handovers"])
    if not receipt["facts"] or any(line["proof"] is None or line["fact"] is None for line in receipt["facts"]):
        return None
    found = verify_receipt(receipt, trusted)
    if given.tiles:
        verify_tiles(found, read(given.older), given.tiles, trusted)
    if given.consistency:
        verify_consistency(found, read(given.older), read(given.consistency).split(), trusted)
    return found


def main():
    parser = argparse.ArgumentParser(description="Verify a receipt of malipo, offline.")
    parser.add_argument("receipt")
    parser.add_argument("--key", action="append", required=True, help="a public key of the log that you trust")
    parser.add_argument("--keys", help="a file with the keys that it has handed over to: what /log/keys answers")
    parser.add_argument("--older", help="an earlier checkpoint, which the receipt's must extend")
    parser.add_argument("--tiles", help="a folder with the log's tiles, which prove that (docs/receipt-log.md)")
    parser.add_argument("--consistency", help="or a proof of that, a hash a line")
    given = parser.parse_args()
    if bool(given.older) != bool(given.tiles or given.consistency):
        parser.error("--older needs --tiles or --consistency, and they need --older")
    try:
        found = verify_files(given)
    except (*WRONG, OSError) as error:
        print(f"REFUSED: {error}")
        return 1
    if found is None:
        print("not yet: no checkpoint covers it, or it was erased")
        return 2
    for fact, (origin, size, _, time), _ in found:
        what = f"corrected to {fact['outcome']}" if "outcome" in fact else fact["fact"]
        way, moment = "to" if fact["type"] == "COLLECTION" else "from", datetime.fromtimestamp(time, timezone.utc)
        print(
            f"{what}: {fact['currency']} {fact['amount']:,} {way} {fact['merchantName']} ({fact['merchant']}), "
            f"{fact['phone']}, {fact['channel']} {fact.get('networkReceipt', '')}, {fact['at']}, "
            f"payment {fact['payment']}"
        )
        print(f"  true as of {moment:%Y-%m-%dT%H:%M:%SZ}: checkpoint of {size:,} leaves, {origin}")
    if not given.keys:
        print("  the key may have been retired since you got it: give --keys (GET /log/keys)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
