"""Hostile requests to the feed and the webhooks, each with its expected answer. Data, like hostile/grid.py."""

from collections.abc import Iterator
from typing import Any

from tests.api.hostile.addresses import NAMES
from tests.api.hostile.case import ENDPOINT, KEY, TOKEN, Case, encoded, get, grid, quoted, short, spliced
from tests.api.raw_http import request


def hook(
    method: str, path: str, body: bytes | None, status: int, code: str, *fields: str, token: bytes = TOKEN.encode()
) -> Case:
    """To the merchant's webhooks, by somebody who is logged in."""
    headers = (b"authorization: Bearer " + token,)
    return Case(request(method, f"/merchant/webhooks{path}", body, headers=headers), status, code, fields or None)


def odd_cursors() -> Iterator[tuple[str, Case]]:
    bad = {
        "after": ["x", "-1", "1.5", "1e9", "%00", "1%00", "9" * 18, "9" * 5_000, "9223372036854775808", "LATEST", "%F0%9F%92%A9",
                  "%ff", "'%20OR%201=1--", "1%0A", "%1B"],
        "limit": ["0", "-1", "101", "1e2", "abc", "", "%00", "9" * 5_000, "20%20"],
        "wait": ["-1", "31", "1.5", "1e1", "abc", "", "%00", "9" * 5_000, "99999999999999999999", "30%20", "inf", "NaN"],
    }  # fmt: skip
    for name, values in bad.items():
        for value in values:
            yield f"feed ?{name}={short(value)}", get(f"/v1/events?{name}={quoted(value)}", 400, "", name)
    every = "&".join(f"{name}=%00" for name in bad)
    yield "feed: every parameter is NUL", get(f"/v1/events?{every}", 400, "validation_failed", *bad)


# No host is a name that would have to be looked up.
NOT_A_URL = [
    0, 1.5, True, False, [], ["https://41.59.1.20/"], {}, {"a": 1}, 10**30, "", " ", "\0", "https://41.59.1.20/\0",
    "https://41.59.1.20/\x01", "https://41.59.1.20/\x1b[2J", "https://41.59.1.20/\x7f", "https://41.59.1.20/\r\nx-a: b",
    "https://41.59.1.20/\thook", "https://41.59.1.20/ hook", "https://41.59.1.20/" + "x" * 2_000,
    "https://41.59.1.20/" + "x" * 60_000, "https://" + "a" * 1_900, "https://" + "a." * 900 + "example",
    "https://asha:maji@41.59.1.20/", "https://@41.59.1.20/", "https://:@41.59.1.20/", "https://41.59.1.20@127.0.0.1/",
    "https://41.59.1.20#@127.0.0.1/", "https://41.59.1.20%00.127.0.0.1/", "https://41.59.1.20\\@127.0.0.1/",
    "https://４１.59.1.20/", "https://41。59。1。20/", "https://①②⑦.0.0.1/", "https://41.59.1.20:/", "https://41.59.1.20:+443/",
    "https://41.59.1.20:4_43/", "https://41.59.1.20:-1/", "https://41.59.1.20:65536/", "https://41.59.1.20:４43/",
    "https://", "https:///", "https:41.59.1.20", "https:/41.59.1.20", "http://41.59.1.20/", "ftp://41.59.1.20/",
    "file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "dict://127.0.0.1/", "javascript:alert(1)", "data:,x",
    "unix:///var/run/docker.sock", "https://127.0.0.1/", "https://127.1/", "https://0/", "https://0x7f000001/",
    "https://017700000001/", "https://2130706433/", "https://localhost/", "https://localhost./", "https://10.0.0.1/",
    "https://172.31.255.255/", "https://192.168.0.1/", "https://169.254.169.254/", "https://100.100.100.200/",
    "https://168.63.129.16/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://[fe80::1%25eth0]/", "https://[::1/",
    "https://::1/", "https://[]/", "https://metadata.google.internal/", "https://kubernetes.default.svc.cluster.local/",
    "https://printer/", "https://-a.example/", "https://a..example/", "https://.example/", "https://exa mple/",
    "https://<script>/", "https://${jndi:ldap}/", "https://*/", "https://ü.example/",
]  # fmt: skip
NOT_EVENTS = [
    0, 1.5, True, "", "payment.failed", {}, {"payment.failed": 1}, [], [None], [0], [True], [[]], [["payment.failed"]], [{}],
    [""], ["payment.failed", None], ["PAYMENT.FAILED"], ["payment.failed\0"], ["webhook.test"], ["**"], ["payment.*"],
    ["payment.failed"] * 2_000 + ["x"], ["x" * 60_000], [10**30], [1.0],
]  # fmt: skip
NOT_ACTIVE = [0, 1, 1.5, "true", "false", "", "on", [], [True], {}, 10**30]
NOT_SINCE = [
    0, 1794731412, 1.5, True, "", " ", "now", "yesterday", [], ["2026-11-15"], {}, "0000-00-00", "10000-01-01", "-0001-01-01",
    "2026-02-30", "2026-11-15T08:30:00", "2026-11-15 08:30:00Z", "2026-11-15T25:00:00Z", "2026-11-15T08:30:00+99:99",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-11-15\0", "\0", "infinity", "-infinity", "epoch",
    "２０２６-11-15", "x" * 60_000, 10**30,
]  # fmt: skip


def wrong_hooks() -> Iterator[tuple[str, Case]]:
    good = {"url": "https://41.59.1.20/", "events": ["payment.failed"]}
    change = ("PATCH", f"/{ENDPOINT}")
    values: list[tuple[str, tuple[str, str], list[Any]]] = [
        ("url", ("POST", ""), [None, *NOT_A_URL]),
        ("url", change, NOT_A_URL),
        ("events", ("POST", ""), [None, *NOT_EVENTS]),
        ("events", change, NOT_EVENTS),
        ("isActive", change, NOT_ACTIVE),
        ("since", ("POST", f"/{ENDPOINT}/recover"), [None, *NOT_SINCE]),
    ]
    for field, (method, path), bad in values:
        for n, value in enumerate(bad):
            base = {} if field == "since" else good
            yield (
                f"webhooks: {method} {field} {n} is {short(repr(value))}",
                hook(method, path, encoded(base, **{field: value}), 400, "", field),
            )
    wrong = encoded({"url": [], "events": {}, "isActive": "x"})
    yield "webhooks: everything is wrong", hook("POST", "", wrong, 400, "validation_failed", "url", "events")
    yield (
        "webhooks: everything changed is wrong",
        hook(*change, wrong, 400, "validation_failed", "url", "events", "isActive"),
    )


def odd_hooks() -> Iterator[tuple[str, Case]]:
    routes = [
        ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/rotate-secret"),
        ("POST", "/rotate-secret/finish"), ("GET", "/deliveries"), ("POST", "/recover"),
    ]  # fmt: skip
    for method, path in routes:
        body = {"/recover": b'{"since": "2026-11-15"}'}.get(path, b"{}" if method == "PATCH" else None)
        for name in NAMES if method == "GET" else NAMES[:3]:
            case = hook(method, f"/{name}{path}", body, 404, "webhook_not_found")
            yield f"webhooks: {method} {short(name)}{path}", case
    for name in NAMES:
        at = f"/{ENDPOINT}/deliveries/{name}"
        yield f"webhooks: delivery {short(name)}", hook("GET", at, None, 404, "delivery_not_found")
        yield f"webhooks: redeliver {short(name)}", hook("POST", f"{at}/redeliver", None, 404, "delivery_not_found")
    bad = {
        "state": ["pending", "LOST", "", "%00", "PENDING%00", "PENDING'--", "x" * 5_000],
        "before": ["%00", "a%00b", "%01", "%7F", "x" * 65, "x" * 20_000],
        "limit": ["0", "-1", "101", "1e2", "abc", "", "%00", "9" * 5_000],
    }
    for field, values in bad.items():
        for value in values:
            at = f"/{ENDPOINT}/deliveries?{field}={quoted(value)}"
            yield f"deliveries ?{field}={short(value)}", hook("GET", at, None, 400, "", field)
    bodies = {
        "nothing": b"", "half a body": b'{"url": "htt', "null": b"null", "a list": b"[]", "NUL": b"\0", "UTF-16": "{}".encode("utf-16"),
        "a lone surrogate": rb'{"url": "\ud800"}', "deep": b'{"url":' * 9_000, "5,000 digits": b'{"events": ' + b"9" * 5_000 + b"}",
    }  # fmt: skip
    large = b'{"url": "' + b"x" * 65_536 + b'"}'
    takers = {
        "register": ("POST", ""),
        "change": ("PATCH", f"/{ENDPOINT}"),
        "recover": ("POST", f"/{ENDPOINT}/recover"),
    }
    for act, (method, path) in takers.items():
        for name, body in bodies.items():
            yield f"webhooks: {act} with {name}", hook(method, path, body, 400, "json_invalid")
        yield f"webhooks: {act} with over 64 KiB", hook(method, path, large, 413, "body_too_large")
    for name, token in {
        "nothing": b"", "a word": b"x", "an API key": KEY.encode(), "raw bytes": b"\xff\xfe", "30 KB": b"x" * 30_000,
        "another's word for it": b"eyJhbGciOiJub25lIn0.eyJzaWQiOiJzZXNfMSJ9.", "and more": TOKEN.encode() + b"x",
    }.items():  # fmt: skip
        yield f"webhooks: the token is {name}", hook("GET", "", None, 401, "invalid_token", token=token)
    for method, path in (("PUT", ""), ("DELETE", ""), ("POST", "/a"), ("GET", "/a/test"), ("GET", "/a/rotate-secret"),
                         ("DELETE", "/a/deliveries"), ("GET", "/a/deliveries/b/redeliver")):  # fmt: skip
        yield f"webhooks: {method} {path}", hook(method, path, b"", 405, "method_not_allowed")


HOOK_GRID = grid(odd_cursors, wrong_hooks, odd_hooks)


# Odd, and still right


def _registering(body: bytes) -> bytes:
    return request("POST", "/merchant/webhooks", body, headers=(b"authorization: bearer  " + TOKEN.encode() + b" ",))


ODD_HOOKS: dict[str, tuple[bytes, int]] = {
    "a cursor of nothing": (request("GET", "/v1/events?after=&wait=0&x=%00", key=KEY), 200),
    "an endpoint of 2,000 characters": (
        _registering(encoded({"url": "https://41.59.1.20/".ljust(2_000, "x"), "events": ["payment.failed"] * 2_000})),
        201,
    ),
    "an endpoint with fields that nobody knows": (
        _registering(spliced('"secret": "whsec_", "isActive": "x"', {"url": "https://41.59.1.20/?a=%00", "events": ["payout.failed"]})),
        201,
    ),
}  # fmt: skip
