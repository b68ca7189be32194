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
import os
import re
import struct
import sys
from datetime import datetime, timezone
from functools import lru_cache

P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
BASE_Y = 4 * pow(5, P - 2, P) % P


class Refused(Exception):
    """It is not true, or cannot be told."""


WRONG = (Refused, ValueError, KeyError, TypeError, AttributeError, IndexError)  # what something forged may raise


def require(condition, why):
    if not condition:
        raise Refused(why)


# Ed25519 (RFC 8032), verification only.


def x_of(y, sign):
    require(y < P, "a point of a signature is wrong")
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    require((x * x - x2) % P == 0 and (x or not sign), "a point of a signature is wrong")
    return P - x if x & 1 != sign else x


def point_of(data):
    number = int.from_bytes(data, "little")
    y, sign = number & (1 << 255) - 1, number >> 255
    x = x_of(y, sign)
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


BASE = (x_of(BASE_Y, 0), BASE_Y, 1, x_of(BASE_Y, 0) * BASE_Y % P)


@lru_cache(maxsize=1000)
def verify(public_key, signature, message):
    require(len(signature) == 64, "a signature is wrong")
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(r + public_key + message).digest(), "little") % Q
    left, right = multiply(s, BASE), add(point_of(r), multiply(k, point_of(public_key)))
    same = (left[0] * right[2] - right[0] * left[2]) % P == 0 == (left[1] * right[2] - right[1] * left[2]) % P
    require(s < Q and same, "a signature is wrong")


# Signed notes, checkpoints and proofs (C2SP), the tree (RFC 9162).


def decode(text, length=None):
    data = base64.b64decode(text, validate=True)
    require(base64.b64encode(data).decode() == text and length in (None, len(data)), "base64 is wrong")
    return data


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def key_of(vkey):
    name, key_id, encoded = vkey.split("+", 2)
    data = decode(encoded, 33)
    require(data[0] == 1 and sha256(name.encode(), b"\n", data)[:4].hex() == key_id, "a key is wrong")
    return name, data[1:]


def signatures_of(note):
    text, blank, lines = note.rpartition("\n\n")
    require(blank and lines.endswith("\n") and not CONTROL.search(note), "not a signed note")
    matches = [re.fullmatch(r"— ([^\s+]+) (\S+)", line) for line in lines[:-1].split("\n")]
    require(all(matches), "a signature line is wrong")
    return text + "\n", [(match[1], decode(match[2])) for match in matches]


def signed(note, key):
    """The text of a note that the key has signed, and the time that it has signed with it, if any."""
    name, public = key
    text, signatures = signatures_of(note)
    is_signed, time = False, None
    for signer, data in signatures:
        if signer == name and data[:4] == sha256(name.encode(), b"\n\x01", public)[:4]:
            verify(public, data[4:], text.encode())
            is_signed = True
        if signer == name and data[:4] == sha256(name.encode(), b"\n\x04", public)[:4]:
            [time] = struct.unpack(">Q", data[4:12])
            verify(public, data[12:], f"cosignature/v1\ntime {time}\n{text}".encode())
    require(is_signed, "a note is not signed by a key that is trusted")
    return text, time


def head_of(text):
    match = re.fullmatch(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([^\n]{44})\n", text)
    require(match, "a checkpoint is wrong")
    return match[1], int(match[2]), decode(match[3], 32)


def open_checkpoint(note, trusted):
    """Its log, size, root and time. `trusted`: keys, each with the last size that it may sign, or None."""
    origin = note.partition("\n")[0]
    for key, limit in trusted.items():
        if key[0] != origin:
            continue
        try:
            text, time = signed(note, key)
        except Refused as refusal:
            if "trusted" in str(refusal):
                continue
            raise
        head = head_of(text)
        require(limit is None or head[1] <= limit, "the key was retired before this checkpoint")
        require(time is not None, "the checkpoint has no signed time")
        return head[0], head[1], head[2], time
    raise Refused("no trusted key has signed the checkpoint")


def follow(trusted, handovers):
    """The keys that follow from trusted ones: whom they have handed over to, and from whom they have taken over."""
    known = {}
    for note in handovers:
        lines = note.partition("\n\n")[0].split("\n")
        require(len(lines) == 5 and lines[0] == "malipo receipt log handover v1", "a handover is wrong")
        old, new, (_, size, _) = key_of(lines[1]), key_of(lines[4]), head_of("-\n" + "\n".join(lines[2:4]) + "\n")
        require(signed(note, old) and signed(note, new), "a handover is wrong")
        largest, only = known.get(old, (size, new))
        require(new == only, "a key was handed over to two others")
        known[old] = max(size, largest), new
    while any(old in trusted or new in trusted for old, (_, new) in known.items()):
        old = next(old for old, (_, new) in known.items() if old in trusted or new in trusted)
        size, new = known.pop(old)
        trusted[old] = size
        trusted.setdefault(new, None)
    return trusted


def included(leaf, index, size, path, root):
    require(index < size, "the leaf is not in the tree")
    place, last = index, size - 1
    for sibling in path:
        require(last, "the proof is too long")
        if place & 1 or place == last:
            leaf = sha256(b"\1", sibling, leaf)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            leaf = sha256(b"\1", leaf, sibling)
        place, last = place >> 1, last >> 1
    require(last == 0 and leaf == root, "the proof does not lead to the checkpoint")


def consistent(old, old_root, new, new_root, path):
    require(0 < old <= new, "the newer checkpoint is the smaller one")
    if old == new:
        require(not path and old_root == new_root, "two checkpoints of one size differ")
        return
    path = path if old & (old - 1) else [old_root, *path]
    require(path, "the consistency proof is too short")
    place, last, first, second = old - 1, new - 1, path[0], path[0]
    while place & 1:
        place, last = place >> 1, last >> 1
    for sibling in path[1:]:
        require(last, "the consistency proof is too long")
        if place & 1 or place == last:
            first, second = sha256(b"\1", sibling, first), sha256(b"\1", sibling, second)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            second = sha256(b"\1", second, sibling)
        place, last = place >> 1, last >> 1
    require((last, first, second) == (0, old_root, new_root), "the newer checkpoint does not extend the older one")


def root_of(hashes):
    """The root of a tree with these hashes of leaves."""
    row = []  # the roots of complete subtrees, the largest first, each with its number of leaves
    for hashed in hashes:
        count = 1
        while row and row[-1][0] == count:
            hashed, count = sha256(b"\1", row.pop()[1], hashed), count * 2
        row.append((count, hashed))
    root = row.pop()[1]
    while row:
        root = sha256(b"\1", row.pop()[1], root)
    return root


def tile_paths(size):
    """The paths of the tiles with all hashes of leaves, as /log/NUMBER/tile/ has them."""
    for number in range(-(-size // 256)):
        digits = str(number).rjust(-(-len(str(number)) // 3) * 3, "0")
        groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
        width = min(256, size - number * 256)
        yield (
            "0/" + "/".join(["x" + each for each in groups[:-1]] + groups[-1:]) + (f".p/{width}" if width < 256 else "")
        )


def read_tiles(folder, size):
    """The hashes of leaves, from a folder with the tiles of a log."""
    hashes = []
    for path in tile_paths(size):
        with open(os.path.join(folder, *path.split("/")), "rb") as file:
            tile = file.read()
        require(len(tile) == 32 * min(256, size - len(hashes)), f"the tile {path} is wrong")
        hashes += [tile[at : at + 32] for at in range(0, len(tile), 32)]
    return hashes


# Receipts.


def once(pairs):
    require(len({name for name, _ in pairs}) == len(pairs), "a name stands twice in the receipt")
    return dict(pairs)


def load(text):
    return json.loads(text, object_pairs_hook=once)


def verify_fact(line, trusted):
    """What it says, and the checkpoint that covers it."""
    text, salt = line["fact"], bytes.fromhex(line["salt"])
    fact = load(text)
    canonical = json.dumps(fact, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    require(canonical == text and len(salt) == 32 and fact["version"] == 1, "a fact is wrong")
    require(line["kind"] == fact["fact"], "the receipt says something else than its proof")
    proof, blank, note = line["proof"].partition("\n\n")
    first, index, *path = proof.split("\n")
    if index.startswith("extra "):
        index, path = path[0], path[1:]
    match = re.fullmatch(r"index (0|[1-9][0-9]{0,18})", index)
    require(blank and first == "c2sp.org/tlog-proof@v1" and match, "a proof is wrong")
    origin, size, root, time = open_checkpoint(note, trusted)
    leaf = sha256(b"\0", sha256(salt, text.encode()))
    included(leaf, int(match[1]), size, [decode(each, 32) for each in path], root)
    return fact, (origin, size, root, time), int(match[1])


def verify_receipt(receipt, trusted):
    """What each line says, with its checkpoint."""
    lines = receipt["facts"]
    require(lines, "nothing is proven")
    found = [verify_fact(line, trusted) for line in lines]
    require(len({(head[0], index) for _, head, index in found}) == len(found), "a fact stands there twice")
    heads = {head[:3] for _, head, _ in found}
    require(len({head[0] for head in heads}) == len(heads), "the receipt has two checkpoints of one log")
    first, names = found[0][0], ("reference", "type", "amount", "currency", "channel", "phone")
    differs = "the receipt differs from its proof"
    require("refund" not in first and receipt["id"] == first["payment"], differs)
    require([receipt.get(name) for name in names] == [first[name] for name in names], differs)
    require(receipt.get("providerReference") == first.get("networkReceipt"), differs)
    is_completed = first["fact"] == "completed"
    require(is_completed == (receipt["status"] == "COMPLETED"), differs)
    require(receipt.get("completedAt") == (first["at"] if is_completed else None), differs)
    for name, proven in (
        ("name", "merchantName"),
        ("registeredName", "merchantRegisteredName"),
        ("tin", "merchantTin"),
    ):
        require(receipt["merchant"].get(name) == first.get(proven), differs)
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
    said = receipt.get("correction")
    said = said and (said["outcome"], said["correctedAt"])
    require(receipt.get("refundedAmount", 0) == sum(refunds.values()), "the receipt says another sum of refunds")
    require(said == correction, "the receipt hides a correction, or says another one")
    return found


def heads_of(found, older, trusted):
    """An older checkpoint, and the receipt's of the same log. It has but one of each log."""
    old, heads = open_checkpoint(older, trusted), {head[0]: head for _, head, _ in found}
    require(old[0] in heads, "the two checkpoints are of two logs")
    return old, heads[old[0]]


def verify_tiles(found, older, folder, trusted):
    """That the receipt's checkpoint extends an older one: both are of the same leaves, which the folder has."""
    old, new = heads_of(found, older, trusted)
    require(0 < old[1] <= new[1], "the newer checkpoint is the smaller one")
    hashes = read_tiles(folder, new[1])
    require(root_of(hashes) == new[2], "the tiles are not those of the newer checkpoint")
    require(root_of(hashes[: old[1]]) == old[2], "the newer checkpoint does not extend the older one")


def verify_consistency(found, older, proof, trusted):
    """That the receipt's checkpoint extends an older one."""
    old, new = heads_of(found, older, trusted)
    consistent(old[1], old[2], new[1], new[2], [decode(each, 32) for each in proof])


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
        with open(given.receipt, encoding="utf-8") as file:
            receipt = load(file.read())
        receipt = receipt.get("receipt", receipt)
        trusted = {key_of(each): None for each in given.key}
        if given.keys:
            with open(given.keys, encoding="utf-8") as file:
                follow(trusted, load(file.read())["handovers"])
        if any(line["proof"] is None or line["fact"] is None for line in receipt["facts"]) or not receipt["facts"]:
            print("not yet: no checkpoint covers it, or it was erased")
            return 2
        found = verify_receipt(receipt, trusted)
        if given.older:
            with open(given.older, encoding="utf-8") as file:
                older = file.read()
            if given.tiles:
                verify_tiles(found, older, given.tiles, trusted)
            if given.consistency:
                with open(given.consistency, encoding="utf-8") as file:
                    verify_consistency(found, older, file.read().split(), trusted)
    except (*WRONG, OSError) as error:
        print(f"REFUSED: {error}")
        return 1
    for fact, (origin, size, _, time), _ in found:
        what = fact["fact"] if "outcome" not in fact else f"corrected to {fact['outcome']}"
        print(
            f"{what}: {fact['currency']} {fact['amount']:,} {'to' if fact['type'] == 'COLLECTION' else 'from'} "
            f"{fact['merchantName']} ({fact['merchant']}), {fact['phone']}, {fact['channel']} "
            f"{fact.get('networkReceipt', '')}, {fact['at']}, payment {fact['payment']}"
        )
        moment = datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        print(f"  true as of {moment}: checkpoint of {size:,} leaves, {origin}")
    if not given.keys:
        print("  the key may have been retired since you got it: give --keys (GET /log/keys)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
