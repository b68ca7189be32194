"""The tree of RFC 9162: the vectors that implementations of Certificate Transparency share, and every small tree."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.receipts.merkle_tree import (
    EMPTY_ROOT,
    Node,
    Range,
    consistency_ranges,
    extends,
    hash_children,
    hash_leaf,
    hash_range,
    includes,
    inclusion_ranges,
    nodes_of,
    root_of,
)

ENTRIES = [
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
PATHS = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
}


def known_nodes(hashes: list[bytes]) -> dict[Node, bytes]:
    """Of every complete subtree, computed as naively as can be."""
    known, level = {Node(0, index): each for index, each in enumerate(hashes)}, 0
    while len(hashes) > 1:
        hashes = [hash_children(hashes[at], hashes[at + 1]) for at in range(0, len(hashes) - 1, 2)]
        level += 1
        known |= {Node(level, index): each for index, each in enumerate(hashes)}
    return known


def tree(size: int) -> list[bytes]:
    return [hash_leaf(hashlib.sha256(b"%d" % index).digest()) for index in range(size)]


@pytest.mark.parametrize("size", ROOTS)
def test_the_roots_are_those_of_the_vectors(size: int) -> None:
    hashes = [hash_leaf(each) for each in ENTRIES[:size]]
    assert root_of(hashes).hex() == ROOTS[size]
    assert hash_range(Range(0, size), known_nodes(hashes)).hex() == ROOTS[size]


@pytest.mark.parametrize(("index", "size"), PATHS)
def test_inclusion_proofs_are_those_of_the_vectors(index: int, size: int) -> None:
    hashes = [hash_leaf(each) for each in ENTRIES[:size]]
    path = [hash_range(each, known_nodes(hashes)) for each in inclusion_ranges(index, size)]
    assert [each.hex() for each in path] == PATHS[index, size]
    assert includes(hashes[index], index, size, path, root_of(hashes))


@pytest.mark.parametrize(("old", "new"), CONSISTENCY)
def test_consistency_proofs_are_those_of_the_vectors(old: int, new: int) -> None:
    hashes = [hash_leaf(each) for each in ENTRIES[:new]]
    path = [hash_range(each, known_nodes(hashes)) for each in consistency_ranges(old, new)]
    assert [each.hex() for each in path] == CONSISTENCY[old, new]
    assert extends(old, root_of(hashes[:old]), new, root_of(hashes), path)


def test_every_leaf_of_every_small_tree_is_proven_and_no_other() -> None:
    for size in range(1, 24):
        hashes = tree(size)
        known, root = known_nodes(hashes), root_of(hashes)
        for index in range(size):
            path = [hash_range(each, known) for each in inclusion_ranges(index, size)]
            assert includes(hashes[index], index, size, path, root)
            assert not any(includes(hashes[index], other, size, path, root) for other in range(size) if other != index)
            assert not includes(hash_leaf(b"forged"), index, size, path, root)
            assert not includes(hashes[index], index, size, [*path, root], root)
            if path:
                assert not includes(hashes[index], index, size, path[:-1], root)
                assert not includes(hashes[index], index, size, path[::-1][:1] + path[1:], EMPTY_ROOT)
        assert not includes(hashes[0], size, size, [], root)
        assert not includes(hashes[0], -1, size, [], root)


def test_every_small_tree_extends_every_smaller_one_and_no_other() -> None:
    for new in range(1, 24):
        hashes = tree(new)
        known, root = known_nodes(hashes), root_of(hashes)
        for old in range(1, new + 1):
            path = [hash_range(each, known) for each in consistency_ranges(old, new)]
            before = root_of(hashes[:old])
            assert extends(old, before, new, root, path)
            rewritten = root_of([hash_leaf(b"forged"), *hashes[1:old]])
            assert not extends(old, rewritten, new, root, path)
            assert not extends(old, before, new, hash_leaf(b"forged"), path)
            assert not extends(old, before, new, root, [*path, root])
            if path:
                assert not extends(old, before, new, root, path[:-1])
        assert extends(0, EMPTY_ROOT, new, root, [])
        assert not extends(0, root, new, root, [])
        assert not extends(new + 1, root, new, root, [])


@given(st.data())
def test_a_range_of_a_proof_is_a_row_of_complete_subtrees(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 10**12))
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    path = inclusion_ranges(index, size)
    for each in [*path, *consistency_ranges(old, size), Range(0, size)]:
        nodes = nodes_of(each)
        assert nodes[0].number << nodes[0].level == each.begin
        assert sum(1 << node.level for node in nodes) == each.end - each.begin
        assert [node.level for node in nodes] == sorted({node.level for node in nodes}, reverse=True)
    # The ranges of an inclusion proof and the leaf are the whole tree.
    assert sum(each.end - each.begin for each in path) == size - 1
    assert len(path) <= 40
