"""Who keeps the checkpoints of the receipt log computes the tree without the service, and believes no wrong signature."""

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.receipts import checkpoint, merkle_tree
from malipo.receipts.checkpoint import TreeHead
from malipo.receipts.merkle_tree import hash_leaf
from simulation.receipts import tree
from simulation.receipts.witness import head_of, is_signed_by

SIZES = range(1, 21)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
PUBLIC = KEY.public_key().public_bytes_raw()
HEAD = TreeHead("pay.example.com/log/1", 5, hashlib.sha256(b"root").digest())


def entries(size: int) -> list[bytes]:
    return [hashlib.sha256(bytes([each])).digest() for each in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_the_tree_of_the_simulation_and_that_of_the_service_agree(size: int) -> None:
    leaves = entries(size)
    root = tree.root_of(leaves)
    assert root == merkle_tree.root_of([hash_leaf(each) for each in leaves])
    for place, leaf in enumerate(leaves):
        assert merkle_tree.includes(hash_leaf(leaf), place, size, tree.inclusion_path(place, leaves), root)
    for old in range(1, size + 1):
        path = tree.consistency_path(old, leaves)
        assert merkle_tree.extends(old, tree.root_of(leaves[:old]), size, root, path)


def test_the_roots_of_the_empty_tree_and_of_one_empty_leaf_are_those_that_rfc_6962_names() -> None:
    assert tree.root_of([]).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert tree.root_of([b""]).hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


def test_a_checkpoint_of_the_service_is_read_and_its_signature_is_that_of_its_key() -> None:
    note = checkpoint.sign(HEAD, KEY, time=1_790_000_000)
    assert head_of(note) == (HEAD.origin, HEAD.size, HEAD.root)
    assert is_signed_by(note, PUBLIC)
    other = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)).public_key().public_bytes_raw()
    assert not is_signed_by(note, other)
    assert not is_signed_by(note.replace("\n5\n", "\n6\n"), PUBLIC)


def test_what_is_no_checkpoint_has_no_head() -> None:
    assert head_of("malipo receipt log v1\n") is None
