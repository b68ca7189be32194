"""An honest log of many receipts, made without a database: two logs after one another, a changed key, some checkpoints."""

import base64
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.receipts import checkpoint, handover
from malipo.receipts.checkpoint import TreeHead
from malipo.receipts.fact import Fact, Kind, commitment_of, encode
from malipo.receipts.genesis import genesis_of
from malipo.receipts.merkle_tree import (
    Node,
    Range,
    consistency_ranges,
    hash_children,
    hash_leaf,
    hash_range,
    inclusion_ranges,
)
from malipo.receipts.proof_text import Proof
from malipo.receipts.signed_note import VerifierKey

NAME = "pay.example.com/log"


@dataclass
class GeneratedLog:
    """One log: entries are appended, and checkpoints signed, as a worker does."""

    number: int
    key: Ed25519PrivateKey
    previous: str | None = None
    nodes: dict[Node, bytes] = field(default_factory=dict)
    size: int = 0
    checkpoints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.append(genesis_of(self.previous).encode())

    @property
    def origin(self) -> str:
        return f"{NAME}/{self.number}"

    def append(self, entry: bytes) -> int:
        """The index of its leaf."""
        node, hashed = Node(0, self.size), hash_leaf(entry)
        self.nodes[node] = hashed
        while node.number & 1:
            hashed = hash_children(self.nodes[Node(node.level, node.number - 1)], hashed)
            node = Node(node.level + 1, node.number >> 1)
            self.nodes[node] = hashed
        self.size += 1
        return self.size - 1

    def head(self, size: int | None = None) -> TreeHead:
        size = self.size if size is None else size
        return TreeHead(self.origin, size, hash_range(Range(0, size), self.nodes))

    def sign(self, time: int, key: Ed25519PrivateKey | None = None, size: int | None = None) -> str:
        note = checkpoint.sign(self.head(size), key or self.key, time=time)
        self.checkpoints.append(note)
        return note

    def prove(self, leaf: int, note: str) -> str:
        ranges = inclusion_ranges(leaf, checkpoint.head_of(note).size)
        return str(Proof(leaf, tuple(hash_range(each, self.nodes) for each in ranges), note))

    def consistency(self, old: int, new: int) -> list[str]:
        return [as_text(hash_range(each, self.nodes)) for each in consistency_ranges(old, new)]


@dataclass
class IssuedReceipt:
    """A receipt and where its facts are, in the order of the log."""

    receipt: dict[str, Any]
    lines: list[tuple[str, bytes, GeneratedLog, int]] = field(default_factory=list)

    def proven(self, note_of: Mapping[int, str]) -> dict[str, Any]:
        """With the proof of each fact against this checkpoint of its log."""
        facts = [
            {
                "kind": json.loads(text)["fact"],
                "fact": text,
                "salt": salt.hex(),
                "proof": log.prove(leaf, note_of[log.number]),
            }
            for text, salt, log, leaf in self.lines
        ]
        return self.receipt | {"facts": facts}


@dataclass
class World:
    logs: list[GeneratedLog]
    issued: list[IssuedReceipt]
    keys: list[str]  # the first, the one that it handed over to, the one of the second log
    handovers: list[str]
    thief: Ed25519PrivateKey
    secrets: list[Ed25519PrivateKey]
    random: random.Random

    def receipts(self) -> list[dict[str, Any]]:
        """With proofs against the last checkpoint of each log."""
        notes = {log.number: log.checkpoints[-1] for log in self.logs}
        return [each.proven(notes) for each in self.issued]


def make_world(count: int, *, seed: int = 20261119) -> World:
    """Receipts of so many payments. Some were refunded, in parts too, some corrected; half before a restore."""
    chance = random.Random(seed)
    keys = [Ed25519PrivateKey.from_private_bytes(chance.randbytes(32)) for _ in range(4)]
    first, issued = GeneratedLog(1_790_000_000, keys[0]), list[IssuedReceipt]()
    for number in range(count // 2):
        issued.append(_pay(first, number, chance))
        if number and number % max(count // 10, 1) == 0:
            first.sign(1_790_000_100 + number)
        if number == count // 4:
            first.sign(1_790_000_100 + number)
            first.key = keys[1]
            handed = handover.sign(first.head(), keys[0], keys[1], new_name=first.origin)
    last = first.sign(1_791_000_000)
    second = GeneratedLog(1_792_000_000, keys[2], previous=last)
    to_second = handover.sign(first.head(), keys[1], keys[2], new_name=second.origin)
    for number in range(count // 2, count):
        issued.append(_pay(second, number, chance))
        if chance.random() < 0.05:  # A payment of before the restore is refunded after it.
            _refund(issued[chance.randrange(count // 2)], second, chance, f"r{number}")
        if number % max(count // 10, 1) == 0:
            second.sign(1_792_000_100 + number)
    second.sign(1_793_000_000)
    names = [first.origin, first.origin, second.origin]
    vkeys = [
        str(VerifierKey(name, key.public_key().public_bytes_raw())) for name, key in zip(names, keys[:3], strict=True)
    ]
    return World([first, second], issued, vkeys, [handed, to_second], keys[3], keys, chance)


def _pay(log: GeneratedLog, number: int, chance: random.Random) -> IssuedReceipt:
    is_collection = chance.random() < 0.7
    fact = Fact(
        fact=Kind.COMPLETED,
        version=1,
        amount=chance.randrange(500, 3_000_000),
        at=f"2026-11-{chance.randrange(1, 29):02}T08:30:{chance.randrange(60):02}.{chance.randrange(1000):03}Z",
        channel=chance.choice(["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"]),
        currency="TZS",
        merchant=f"mer_{number % 7}",
        merchant_name=["Duka la Asha", "Söhne & Töchter", "Kibanda “Bora”", "A/S \\ Ltd", "Mama N'tilie", "Café", "道"][
            number % 7
        ],
        merchant_tin="123456789" if number % 7 == 0 else None,
        payment=f"txn_{number}",
        phone=f"+2557*****{chance.randrange(1000):03}",
        reference=f"MLP-{number}",
        type="COLLECTION" if is_collection else "DISBURSEMENT",
        network_receipt=f"BKF{number}" if chance.random() < 0.9 else None,
    )
    receipt: dict[str, Any] = {
        "id": fact.payment,
        "reference": fact.reference,
        "type": fact.type,
        "amount": fact.amount,
        "currency": "TZS",
        "channel": fact.channel,
        "status": "COMPLETED",
        "phone": fact.phone,
        "merchant": {"name": fact.merchant_name} | ({"tin": fact.merchant_tin} if fact.merchant_tin else {}),
        "completedAt": fact.at,
        "url": "https://pay.example.com/receipt/x",
    }
    if fact.network_receipt is not None:
        receipt["providerReference"] = fact.network_receipt
    issued = IssuedReceipt(receipt)
    _add(issued, fact, log, chance)
    if is_collection and chance.random() < 0.2:
        _refund(issued, log, chance, "a")
    if chance.random() < 0.1:
        outcome = chance.choice(["FAILED", "COMPLETED"])
        correction = Fact(**_fields(fact) | {"fact": Kind.CORRECTED, "outcome": outcome, "ordinal": 1, "at": fact.at})
        _add(issued, correction, log, chance)
        issued.receipt["correction"] = {"outcome": outcome, "correctedAt": fact.at}
    return issued


def _refund(issued: IssuedReceipt, log: GeneratedLog, chance: random.Random, name: str) -> None:
    fact = json.loads(issued.lines[0][0])
    left = fact["amount"] - issued.receipt.get("refundedAmount", 0)
    if fact["type"] != "COLLECTION" or left < 1000:
        return
    amount = left // 2 if chance.random() < 0.5 else left
    refund = Fact(
        fact=Kind.REFUNDED,
        version=1,
        amount=amount,
        at=fact["at"],
        channel=fact["channel"],
        currency="TZS",
        merchant=fact["merchant"],
        merchant_name=fact["merchantName"],
        payment=fact["payment"],
        phone=fact["phone"],
        reference=f"{fact['reference']}{name}",
        type="DISBURSEMENT",
        refund=f"{fact['payment']}{name}",
    )
    _add(issued, refund, log, chance)
    issued.receipt["refundedAmount"] = issued.receipt.get("refundedAmount", 0) + amount


def _add(issued: IssuedReceipt, fact: Fact, log: GeneratedLog, chance: random.Random) -> None:
    salt, text = chance.randbytes(32), encode(fact)
    issued.lines.append((text, salt, log, log.append(commitment_of(salt, text))))


def _fields(fact: Fact) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in fact.__struct_fields__}


def as_text(hashed: bytes) -> str:
    return base64.b64encode(hashed).decode()
