"""A path has one spelling, and a request one Host: whatever compares the text before us compares what we see."""

import string
from collections.abc import Callable

import pytest

from malipo.api.http.request_head import is_canonical, is_host_clear

# RFC 3986: what need not be encoded; and a slash, which would be another path.
PLAIN = (string.ascii_letters + string.digits + "-._~/").encode()


@pytest.mark.parametrize("case", [str.upper, str.lower], ids=["upper", "lower"])
def test_exactly_what_need_not_be_encoded_is_refused_where_it_is(case: Callable[[str], str]) -> None:
    refused = {byte for byte in range(256) if not is_canonical(f"/operator/x%{case(f'{byte:02x}')}y")}
    assert refused == set(PLAIN)


@pytest.mark.parametrize("path", ["//", "/a//b", "/.", "/..", "/./a", "/../a", "/a/.", "/a/..", "/a/./b", "/a/../b"])
def test_a_segment_that_goes_nowhere_is_refused(path: str) -> None:
    assert not is_canonical(path)


@pytest.mark.parametrize("path", ["/", "/a/", "/.env", "/..a", "/a.", "/a..", "/...", "/a%20b", "/%", "/%2", "/%zz"])
def test_what_has_no_other_spelling_is_not(path: str) -> None:
    assert is_canonical(path)


def test_there_is_one_host_and_only_http_1_0_may_do_without() -> None:
    assert [is_host_clear(hosts, "1.1") for hosts in range(3)] == [False, True, False]
    assert [is_host_clear(hosts, "1.0") for hosts in range(3)] == [True, True, False]
