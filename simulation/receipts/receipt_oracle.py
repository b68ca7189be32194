"""What must be true of receipts when everything is quiet: each payment that was completed has its leaf once, each
correction too, every leaf is covered by a checkpoint, and the proofs that the service hands out are those of the tree.

The proofs are compared with `tree.py`, which has nothing from the service, and verified by the program that customers
get.
"""

import base64
import hashlib
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from malipo.db import Conn
from malipo.receipts import check as receipt_check
from malipo.receipts import public_files, tree_store
from malipo.receipts.find_receipt import NoReceipt, find_receipt
from malipo.receipts.receipt_json import receipt_view
from malipo.receipts.store import logs
from simulation.database import SimulatedDatabase
from simulation.merchants import call
from simulation.receipts import tree
from simulation.receipts.client import client
from simulation.receipts.witness import Witness, find_leaves, head_of
from simulation.template import SimulatedMerchant
from simulation.world import API_PORTS

_MOST_RECEIPTS = 4  # So many are asked for over HTTP.
_TRIES = 10
_PROOF = re.compile(r"c2sp\.org/tlog-proof@v1\nindex ([0-9]+)\n((?:[^\n]+\n)*)\n(.*)", re.DOTALL)

# What belongs into the log, by the payments and by what merchants were told.
_EXPECTED = """
    SELECT t.id, CASE WHEN t.refund_of IS NULL THEN 'completed' ELSE 'refunded' END, '1', t.merchant_id
    FROM transactions t WHERE t.status = 'COMPLETED'
    UNION ALL
    SELECT e.transaction_id, 'corrected', e.ordinal::text, e.merchant_id FROM events e
    WHERE e.event IN ('payment.corrected', 'payout.corrected')
"""
_FACTS = """
    SELECT f.subject_id, f.kind, f.ordinal::text, f.merchant_id, encode(f.entry, 'hex'), encode(f.salt, 'hex'), f.fact,
           l.origin, f.leaf_index, t.amount
    FROM receipt_facts f JOIN receipt_logs l ON l.number = f.log_number
    LEFT JOIN transactions t ON t.merchant_id = f.merchant_id AND t.id = f.subject_id ORDER BY 1, 2, 3
"""
_WITH_FACTS = "SELECT DISTINCT merchant_id, transaction_id FROM receipt_facts ORDER BY 1, 2"
_UNCOVERED = """
    SELECT (SELECT count(*) FROM receipt_facts f WHERE f.leaf_index >= coalesce((
                SELECT max(c.size) FROM receipt_checkpoints c WHERE c.log_number = f.log_number), 0))
         + (SELECT coalesce(sum(last_number - logged_to), 0) FROM feeds)
"""

Find = Callable[..., None]


def count_open(database: SimulatedDatabase) -> int:
    """How many events the log has not looked at, and how many of its leaves no checkpoint covers."""
    [[count]] = database.look().ask(_UNCOVERED)
    return int(count or 0)


class ReceiptOracle:
    def __init__(
        self, seed: int, accounts: Sequence[SimulatedMerchant], database: SimulatedDatabase, witness: Witness
    ) -> None:
        self._chance = random.Random(f"receipts {seed}")
        self._accounts = {each.id: each for each in accounts}
        self._database = database
        self._witness = witness

    def check(self, find: Find) -> None:
        self._witness.look()
        for problem in self._witness.problems:
            find("receipt", problem)
        if open_ := count_open(self._database):
            find("receipt", f"{open_} events or leaves are not covered by a checkpoint")
        self._check_leaves(find)

    def _check_leaves(self, find: Find) -> None:
        facts = self._database.look().ask(_FACTS)
        expected = Counter(tuple(map(str, row)) for row in self._database.look().ask(_EXPECTED))
        there = Counter(tuple(map(str, row[:4])) for row in facts)
        for what in sorted((expected - there).keys()):
            find("receipt", f"{what[1]} {what[2]} of {what[0]} has no leaf, or too few", what[0])
        for what in sorted((there - expected).keys()):
            find("receipt", f"{what[1]} {what[2]} of {what[0]} has a leaf too many", what[0])
        leaves = find_leaves(self._database)
        for id_, kind, _, _, entry, salt, fact, origin, place, amount in facts:
            said, commitment = (
                msgspec.json.decode(str(fact)),
                hashlib.sha256(bytes.fromhex(str(salt)) + str(fact).encode()),
            )
            of_log = leaves.get(str(origin), [])
            if commitment.hexdigest() != entry or int(place or 0) >= len(of_log):
                find("receipt", f"the leaf of {id_} {kind} does not commit to its fact, or lies behind a gap", str(id_))
            elif (said["fact"], str(said["amount"])) != (kind, amount):
                find(
                    "receipt",
                    f"the receipt of {id_} {kind} over {amount} says {said['fact']} {said['amount']}",
                    str(id_),
                )

    async def check_consistency(self, connection: Conn, find: Find) -> None:
        """Each checkpoint of a log extends the one before it, and the service's own check finds nothing."""
        leaves = find_leaves(self._database)
        for log in await logs.find_all(connection):
            sizes = [each.size for each in await logs.find_each_published(connection, log.number)]
            for old, new in pairwise(sizes):
                path = await tree_store.find_consistency_path(connection, log, old, new)
                if path != tree.consistency_path(old, leaves[log.origin][:new]):
                    find("receipt", f"the proof that {log.origin} with {new} leaves extends {old} is wrong")
        for each in (await receipt_check.check(connection)).findings:
            find("receipt", f"malipo log check: {each}")
        await self._check_with_the_client(connection, find)

    async def _check_with_the_client(self, connection: Conn, find: Find) -> None:
        """Somebody who has got the latest key accepts every receipt, and every checkpoint that was ever published."""
        keys = await public_files.find_keys(connection)
        if not keys["keys"]:
            return
        trusted = client.follow({client.key_of(keys["keys"][-1]): None}, keys["handovers"])
        for note in sorted(self._witness.notes):
            try:
                client.open_checkpoint(note, trusted)
            except client.WRONG as error:
                find("receipt", f"verify_receipt.py refuses a checkpoint: {error}: {note!r}")
        for merchant_id, id_ in self._database.look().ask(_WITH_FACTS):
            try:
                receipt = receipt_view(await find_receipt(connection, str(merchant_id), str(id_)), url="")
            except NoReceipt:
                continue  # It was only ever corrected to FAILED.
            if any(each["proof"] is None for each in receipt["facts"]):
                continue  # It tells of something that operators have not decided yet.
            try:
                client.verify_receipt(msgspec.json.decode(msgspec.json.encode(receipt)), trusted)
            except client.WRONG as error:
                find("receipt", f"verify_receipt.py refuses the receipt of {id_}: {error}", str(id_))

    async def check_proofs(self, find: Find) -> None:
        """Some receipts, as merchants get them."""
        rows = self._database.look().ask(
            "SELECT merchant_id, id FROM transactions t WHERE status = 'COMPLETED' AND refund_of IS NULL ORDER BY id"
        )
        leaves = find_leaves(self._database)
        for merchant_id, id_ in self._chance.sample(rows, min(len(rows), _MOST_RECEIPTS)):
            receipt = await self._read(self._accounts[str(merchant_id)], str(id_))
            if receipt is None:
                find("receipt", f"the receipt of {id_} cannot be read", str(id_))
                continue
            for each in receipt["facts"]:
                if not _is_proven(each, leaves):
                    find("receipt", f"the proof of {id_} {each['kind']} is wrong: {each['proof']!r}", str(id_))

    async def _read(self, merchant: SimulatedMerchant, id_: str) -> dict[str, Any] | None:
        for attempt in range(_TRIES):
            try:
                status, answer = await call(API_PORTS[attempt % 2], "GET", f"/v1/payments/{id_}/receipt", merchant)
            except (OSError, TimeoutError):
                continue
            if status == 200:
                found: dict[str, Any] = answer["receipt"]
                return found
        return None


def _is_proven(fact: dict[str, Any], leaves: dict[str, list[bytes]]) -> bool:
    """Whether the proof is the path from the fact's leaf to the root of the checkpoint in it."""
    match = _PROOF.fullmatch(fact["proof"] or "")
    head = None if match is None else head_of(match[3])
    if match is None or head is None:
        return False
    entry = hashlib.sha256(bytes.fromhex(fact["salt"]) + fact["fact"].encode()).digest()
    covered, place = leaves.get(head.origin, [])[: head.size], int(match[1])
    path = [base64.b64decode(each) for each in match[2].split()]
    return (
        len(covered) == head.size
        and place < head.size
        and covered[place] == entry
        and tree.root_of(covered) == head.root
        and tree.inclusion_path(place, covered) == path
    )
