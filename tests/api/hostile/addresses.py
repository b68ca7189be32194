"""Addresses, methods and queries that no honest client sends. Data; the tests are in test_hostile.py."""

from collections.abc import Iterator

from tests.api.hostile.case import DISBURSE, KEY, LIST, Case, encoded, get, quoted, short
from tests.api.raw_http import request
from tests.conftest import PAYOUT

NAMES = [
    "%00", "txn_%00", "MLP-%00", "%zz", "%", "%2", "%ff", "%c0%af", "%0Atxn_0", "%20",
    "+", "*", "a" * 65, "a" * 20_000, "%F0%9F%92%A9", "%ED%A0%80", "'%20OR%20'1'='1",
    "txn_';DROP%20TABLE%20transactions;--",
    "MLP-%25", "MLP-_", "{id}", "${jndi:ldap}", "%3Cscript%3E", "-1", "0", "null", "disburse", "txn_", "MLP-",
]  # fmt: skip


def addresses() -> Iterator[tuple[str, Case]]:
    nowhere = [
        "/", "/v1", "/v1/", "/v1/payments/", "/v1/wallet/", "/v1/Payments",
        "/V1/payments", "/v2/payments", "/payments", "/v1/payments/a/b", "/v1/payments/a/cancel/b",
        "/v1/payments/a/reverse",
        "/etc/passwd", "/.env", "/.git/config", "/admin", "/wp-login.php", "/favicon.ico",
        "/robots.txt", "/healthz/", "/v1/wallet%00", "/v1%00/wallet", "/%", "/%zz", "/%ff%fe", "/v1/wallet;x=1",
        "/v1/wallet%3fx", "/v1\\wallet", "/v1/wallet\\", "/" + "a" * 20_000,
        "/" + "a/" * 5_000, "/v1/wallet%20",
        "/v1/wallet%0A", "/v1/payments/%0A", "/v1/payments/txn_0%0A", "/%0d%0aX-Injected:%20yes",
        "/<script>alert(1)</script>",
    ]  # fmt: skip
    # Another spelling of a path, so that a proxy's rule for the path would not see it.
    respelt = [
        "/v1//payments", "//v1/payments", "/v1/payments/../wallet", "/v1/./wallet", "/v1/payments/..%2fwallet",
        "/%2e%2e/%2e%2e/etc/passwd", "/../../../../etc/passwd", "/v1/payments%2Fdisburse%2Fx", "/v1/payments/..",
        "/v1/payments/%2e%2e", "/v1/wallet/.", "/%6fperator", "/%6Fperator/login", "/dash%62oard", "/%76%31/wallet",
        "/operator%2flogin", "//operator", "/x/../operator", "/./operator", "/operator//login",
        "/v1/payments/txn%5F0", "/%7e", "/healthz%2D", "http://malipo/%6fperator",
    ]  # fmt: skip
    for target in respelt:
        yield f"GET {short(target)}", get(target, 400, "bad_request")
    for target in nowhere:
        yield f"GET {short(target)}", get(target, 404, "not_found")
    for name in NAMES:
        yield f"GET payment {short(name)}", get(f"/v1/payments/{name}", 404, "transaction_not_found")
        cancel = request("POST", f"/v1/payments/{name}/cancel", b"", key=KEY)
        yield f"cancel payment {short(name)}", Case(cancel, 404, "transaction_not_found")
    yield "a fragment is no part of a target's path", get("/v1/nowhere#/v1/wallet", 404, "not_found")
    yield "OPTIONS *", Case(request("OPTIONS", "*", key=KEY), 404, "not_found")
    yield "no leading slash", get("v1/payments", 400, "bad_request")
    yield "only a query", get("?page=1", 400, "bad_request")
    yield "an authority without a path", get("http://malipo", 400, "bad_request")
    yield "raw bytes in the path", get(b"/v1/payments/\xff\xfe", 400, "bad_request")
    yield "raw UTF-8 in the path", get("/v1/payments/ü".encode(), 400, "bad_request")
    yield "a NUL in the path", get(b"/v1/payments\x00", 400, "bad_request")
    yield "a space in the path", get(b"/v1/pay ments", 400, "bad_request")
    yield "a tab in the path", get(b"/v1/pay\tments", 400, "bad_request")
    yield "a target of 300 KB", get("/" + "a" * 300_000, 400, "bad_request")
    yield "a query of 300 KB", get("/v1/payments?" + "a=1&" * 75_000, 400, "bad_request")


def methods() -> Iterator[tuple[str, Case]]:
    taken = {
        "/v1/payments": {"GET", "HEAD", "POST"},
        "/v1/payments/MLP-1": {"GET", "HEAD"},
        "/v1/payments/MLP-1/cancel": {"POST"},
        "/v1/wallet": {"GET", "HEAD"},
        "/healthz": {"GET", "HEAD"},
        "/readyz": {"GET", "HEAD"},
    }
    asked = [
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "OPTIONS",
        "TRACE",
        "CONNECT",
        "PROPFIND",
        "LOCK",
        "PURGE",
    ]
    for target, right in taken.items():
        for method in asked:
            if method not in right:
                sent = request(method, target, b"", key=KEY)
                yield f"{method} {target}", Case(sent, 405, "method_not_allowed", is_head=method == "HEAD")
    for method in ("PUT", "PATCH", "DELETE"):
        sent = request(method, DISBURSE, encoded(PAYOUT), key=KEY)
        yield f"{method} {DISBURSE}", Case(sent, 405, "method_not_allowed")
    for method in ("FOO", "get", "Post", "GETT", "G", "GET\t", "", "POST\x00", "ПОСТ", "X" * 10_000):
        sent = request(method, LIST, key=KEY)
        yield f"method {short(method)!r}", Case(sent, 400, "bad_request")
    yield "CONNECT elsewhere", Case(request("CONNECT", "example.com:443", key=KEY), 400, "bad_request")
    yield "HEAD nowhere", Case(request("HEAD", "/nowhere", key=KEY), 404, "not_found", is_head=True)
    yield "HEAD without a key", Case(request("HEAD", LIST), 401, "invalid_api_key", is_head=True)
    yield (
        "another method by header",
        Case(
            request("POST", "/v1/payments/MLP-1", b"", key=KEY, headers=(b"x-http-method-override: GET",)),
            405,
            "method_not_allowed",
        ),
    )


def odd_queries() -> Iterator[tuple[str, Case]]:
    bad = {
        "page": ["0", "-1", "1.5", "1e9", "abc", "", "%00", "1%00", "9" * 18, "9" * 5_000, "1000000001", "٣",
                 "1;limit=2", "'--", "1%0A"],
        "limit": ["0", "-1", "101", "1e2", "abc", "", "%00", "9" * 5_000, "9223372036854775808", "20%20", "0x14",
                  "1'OR'1'='1"],
        "from": ["0000-00-00", "10000-01-01", "-0001-01-01", "2026-02-30", "now()", "%00", "1e9", "9" * 5_000,
                 "2026-01-01T00:00:00Z%00", "2026-01-01T00:00:00+99:99", "0001-01-01T00:00:00%2B23:59", "infinity",
                 "-infinity"],
        "to": ["99999-12-31", "2026-01-01T24:00:01Z", "epoch", "9999-12-31T23:59:59-23:59", "tomorrow",
               "%F0%9F%92%A9"],
        "status": ["pending", "DONE", "%00", "PENDING%00", "PENDING'--", "x" * 5_000, "0"],
        "type": ["REFUND", "collection", "%ff", "COLLECTION,DISBURSEMENT"],
        "channel": ["VISA", "mpesa", "MPESA%0A", "%27%3B--"],
        "search": ["%00", "a%00b", "%01", "%7F", "x" * 256, "x" * 20_000, "%1B"],
    }  # fmt: skip
    for name, values in bad.items():
        for value in values:
            yield f"?{name}={short(value)}", get(f"{LIST}?{name}={quoted(value)}", 400, "", name)
    every = "&".join(f"{name}=%00" for name in bad)
    yield "every parameter is NUL", get(f"{LIST}?{every}", 400, "validation_failed", *bad)
    yield "the last of two counts", get(f"{LIST}?page=1&page=x", 400, "page_invalid", "page")
    yield "wait without end", get("/v1/payments/MLP-1?wait=1e9", 400, "wait_invalid", "wait")
    yield "wait for NUL", get("/v1/payments/MLP-1?wait=%00", 400, "wait_invalid", "wait")
    yield "raw bytes in the query", get(b"/v1/payments?search=\xff", 400, "bad_request")
    yield "a NUL in the query", get(b"/v1/payments?search=\x00", 400, "bad_request")
