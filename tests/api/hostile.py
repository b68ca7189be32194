"""What no honest client sends, as bytes, each with the answer it is to get. Data; the tests are in test_hostile.py."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.api.wire import request
from tests.conftest import COLLECTION, PAYOUT

KEY, TOKEN, ENDPOINT = "<the victim's key>", "<the victim's token>", "<the victim's endpoint>"
CREATE, DISBURSE, LIST = "/v1/payments", "/v1/payments/disburse", "/v1/payments"


@dataclass(frozen=True)
class Case:
    sent: bytes
    status: int
    code: str | None = None
    fields: tuple[str, ...] | None = None  # what `details` names; None if there are to be none
    is_head: bool = False


def get(target: str | bytes, status: int, code: str, *fields: str, headers: tuple[bytes, ...] = ()) -> Case:
    return Case(request("GET", target, key=KEY, headers=headers), status, code, fields or None)


def post(
    body: bytes, status: int, code: str, *fields: str, route: str = CREATE, headers: tuple[bytes, ...] = ()
) -> Case:
    return Case(request("POST", route, body, key=KEY, headers=headers), status, code, fields or None)


def encoded(base: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps(base | changes).encode()


def spliced(member: str, base: dict[str, Any] = COLLECTION) -> bytes:
    """A good body with one more member, written as it stands: the last of two equal names counts."""
    return f"{json.dumps(base)[:-1]}, {member}}}".encode()


def short(value: object) -> str:
    """A value in the name of a case."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 30 else f"{text[:30]}… of {len(text)}"


# Addresses and methods


NAMES = [
    "%00", "txn_%00", "MLP-%00", "%zz", "%", "%2", "%ff", "%c0%af", "..", "%2e%2e", "%0Atxn_0", "%20",
    "+", "*", "a" * 65, "a" * 20_000, "%F0%9F%92%A9", "%ED%A0%80", "'%20OR%20'1'='1",
    "txn_';DROP%20TABLE%20transactions;--",
    "MLP-%25", "MLP-_", "{id}", "${jndi:ldap}", "%3Cscript%3E", "-1", "0", "null", "disburse", "txn_", "MLP-",
]  # fmt: skip


def addresses() -> Iterator[tuple[str, Case]]:
    nowhere = [
        "/", "/v1", "/v1/", "/v1/payments/", "/v1/wallet/", "/v1//payments", "//v1/payments", "/v1/Payments",
        "/V1/payments", "/v2/payments", "/payments", "/v1/payments/a/b", "/v1/payments/a/cancel/b",
        "/v1/payments/a/refund",
        "/v1/payments/../wallet", "/v1/./wallet", "/v1/payments/..%2fwallet", "/%2e%2e/%2e%2e/etc/passwd",
        "/../../../../etc/passwd", "/etc/passwd", "/.env", "/.git/config", "/admin", "/wp-login.php", "/favicon.ico",
        "/robots.txt", "/healthz/", "/v1/wallet%00", "/v1%00/wallet", "/%", "/%zz", "/%ff%fe", "/v1/wallet;x=1",
        "/v1/wallet%3fx", "/v1/payments%2Fdisburse%2Fx", "/v1\\wallet", "/v1/wallet\\", "/" + "a" * 20_000,
        "/" + "a/" * 5_000, "/v1/wallet%20",
        "/v1/wallet%0A", "/v1/payments/%0A", "/v1/payments/txn_0%0A", "/%0d%0aX-Injected:%20yes",
        "/<script>alert(1)</script>",
    ]  # fmt: skip
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


# Bodies


def broken_bodies() -> Iterator[tuple[str, Case]]:
    good = encoded(COLLECTION)
    text = json.dumps(COLLECTION)
    bodies: dict[str, bytes] = {
        "nothing": b"",
        "only spaces": b"   \r\n",
        "an opening": b"{",
        "a closing": b"}",
        "half a body": good[:-10],
        "null": b"null",
        "true": b"true",
        "a number": b"1000",
        "a string": b'"amount"',
        "an empty list": b"[]",
        "a list of bodies": b"[" + good + b"]",
        "two bodies": good + good,
        "a body and more": good + b" x",
        "a body and NUL": good + b"\0",
        "NUL and a body": b"\0" + good,
        "NULs": b"\0" * 1000,
        "a trailing comma": good[:-1] + b",}",
        "single quotes": good.replace(b'"', b"'"),
        "names without quotes": b"{amount: 1000}",
        "a comment": b"/* x */" + good,
        "a leading zero": spliced('"amount": 01000'),
        "a bare point": spliced('"amount": .5'),
        "a plus": spliced('"amount": +1000'),
        "hexadecimal": spliced('"amount": 0x3e8'),
        "an underscore": spliced('"amount": 1_000'),
        "NaN": spliced('"amount": NaN'),
        "Infinity": spliced('"amount": Infinity'),
        "-Infinity": spliced('"metadata": {"a": -Infinity}'),
        "1e400": spliced('"amount": 1e400'),
        "-1e400": spliced('"metadata": {"a": -1e400}'),
        "1e400 where nobody looks": spliced('"unknown": 1e400'),
        "an exponent without end": spliced('"amount": 1e' + "9" * 5_000),
        "5,000 digits": spliced('"amount": ' + "9" * 5_000),
        "-5,000 digits": spliced('"amount": -' + "9" * 5_000),
        "5,000 digits in metadata": spliced('"metadata": {"a": ' + "9" * 5_000 + "}"),
        "60,000 digits where nobody looks": spliced('"unknown": ' + "9" * 60_000),
        "undefined": spliced('"amount": undefined'),
        "a byte order mark": b"\xef\xbb\xbf" + good,
        "UTF-16": text.encode("utf-16"),
        "UTF-16 LE": text.encode("utf-16-le"),
        "UTF-16 BE": text.encode("utf-16-be"),
        "UTF-32": text.encode("utf-32"),
        "Latin-1": good[:-1] + ', "description": "é"}'.encode("latin-1"),
        "an overlong slash": good[:-1] + b', "description": "\xc0\xaf"}',
        "a surrogate as UTF-8": good[:-1] + b', "description": "\xed\xa0\x80"}',
        "half a character": good[:-1] + b', "description": "\xf0\x9f"}',
        "beyond Unicode": good[:-1] + b', "description": "\xf4\x90\x80\x80"}',
        "a raw line feed in a text": good[:-1] + b', "description": "a\nb"}',
        "a raw NUL in a text": good[:-1] + b', "description": "a\0b"}',
        "a bad escape": spliced(r'"description": "\x41"'),
        "half an escape": spliced(r'"description": "\u12"'),
        "an unclosed text": good[:-1] + b', "description": "a}',
        "deep lists": b"[" * 60_000,
        "deep lists, closed": b"[" * 30_000 + b"]" * 30_000,
        "deep objects": b'{"a":' * 12_000,
        "deep metadata": spliced('"metadata": ' + '{"a":' * 5_000 + "1" + "}" * 5_000),
        "deep where nobody looks": spliced('"unknown": ' + "[" * 20_000 + "]" * 20_000),
        "a form": b"amount=1000&channel=MPESA&buyerPhone=%2B255754000001",
        "a multipart form": b'--x\r\nContent-Disposition: form-data; name="amount"\r\n\r\n1000\r\n--x--\r\n',
        "XML": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        "YAML": b"amount: 1000\nchannel: MPESA\n",
        "MessagePack": b"\x81\xa6amount\xcd\x03\xe8",
        "a pickle": b"cos\nsystem\n(S'true'\ntR.",
    }
    for name, body in bodies.items():
        yield f"body: {name}", post(body, 400, "json_invalid")
    for name in ("a list of bodies", "half a body", "NUL and a body", "UTF-16", "deep objects", "5,000 digits"):
        yield f"payout's body: {name}", post(bodies[name], 400, "json_invalid", route=DISBURSE)
    squeezed = {
        "gzip": gzip.compress(good),
        "deflate": zlib.compress(good),
        "gzip, gzip": gzip.compress(gzip.compress(good)),
    }
    for name, body in squeezed.items():
        header = (f"content-encoding: {name}".encode(),)
        yield f"content-encoding {name}", post(body, 400, "json_invalid", headers=header)
    bomb = gzip.compress(b" " * 20_000_000)
    yield "a gzip bomb", post(bomb, 400, "json_invalid", headers=(b"content-encoding: gzip",))
    surrogates = [r"\ud800", r"\udfff", r"\udc00\ud800", r"a\ud83d"]
    for n, text in enumerate(surrogates):
        for field in ("channel", "buyerPhone", "buyerName", "description"):
            yield f"lone surrogate {n} in {field}", post(spliced(f'"{field}": "{text}"'), 400, "json_invalid")
        yield (
            f"lone surrogate {n} in a metadata value",
            post(spliced(f'"metadata": {{"a": "{text}"}}'), 400, "json_invalid"),
        )
        yield (
            f"lone surrogate {n} in a metadata key",
            post(spliced(f'"metadata": {{"{text}": 1}}'), 400, "json_invalid"),
        )
        yield f"lone surrogate {n} in a field's name", post(spliced(f'"{text}": 1'), 400, "json_invalid")


def large_bodies() -> Iterator[tuple[str, Case]]:
    over = spliced(f'"unknown": "{"x" * 65_536}"')
    just_over = spliced('"unknown": "{}"'.format("x" * (65_537 - len(spliced('"unknown": ""')))))
    assert len(just_over) == 65_537
    for route in (CREATE, DISBURSE):
        yield f"over 64 KiB to {route}", post(over, 413, "body_too_large", route=route)
    yield "one byte over 64 KiB", post(just_over, 413, "body_too_large")
    yield "5 MB", post(b'"' + b"x" * 5_000_000 + b'"', 413, "body_too_large")
    yield "5 MB of spaces", post(b" " * 5_000_000, 413, "body_too_large")
    head = request("POST", CREATE, key=KEY, headers=(b"transfer-encoding: chunked",))
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    small = b"1\r\nx\r\n" * 70_000
    yield "over 64 KiB in chunks", Case(head + chunk * 5 + b"0\r\n\r\n", 413, "body_too_large")
    yield "over 64 KiB in chunks without end", Case(head + chunk * 20, 413, "body_too_large")
    yield "over 64 KiB in chunks of a byte", Case(head + small + b"0\r\n\r\n", 413, "body_too_large")
    declared = request("POST", CREATE, key=KEY, headers=(b"content-length: 9999999999",))
    yield "10 GB announced, 70 KB sent", Case(declared + b"x" * 70_000, 413, "body_too_large")


# Fields


NOT_AN_AMOUNT = [
    True, False, "1000", "", [], [1000], {}, {"a": 1}, 1000.0, 1000.5, 1e3, -1e300, 1e-300, "1000; DROP TABLE wallets",
    "１０００",
]  # fmt: skip
NOT_ENOUGH = [0, 1, 499, -1, -1000, -(2**31), -(2**63), -(2**63) - 1, -(10**30), -(10**4_000)]
TOO_MUCH = [10_000_001, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, 10**4_000]
NOT_A_CHANNEL = [
    0, 1.5, True, False, [], ["MPESA"], {}, {"a": 1}, "", " ", "MPESA ", "mpesa", "MPESA\0", "Channel.MPESA",
    "x" * 60_000, 10**30, -1, "MPESA'; DROP TABLE transactions; --",
]  # fmt: skip
NOT_A_PHONE = [
    0, 255754000001, True, [], ["+255754000001"], {}, "", " ", "+", "+255754000001 ", " +255754000001",
    "+255754000001\0", "\0+255754000001", "+255754000001\n", "+255 754 000 001", "+255-754-000-001", "0754000001",
    "255754000001", "+254754000001", "+255854000001", "+25575400000", "+2557540000011", "tel:+255754000001",
    "+255７54000001", "' OR 1=1 --", "+255754000001,+255754000002", "x" * 60_000, 10**30,
]  # fmt: skip
NOT_TEXT = [
    0, 1.5, True, False, [], ["a"], {}, {"a": 1}, 10**30, "\0", "a\0b", "\x01", "\x08", "\x0b", "\x0c", "\x1b[2J",
    "\x1f", "\x7f",
]  # fmt: skip
NOT_METADATA = [
    0, 1.5, True, "", "{}", [], [{"a": 1}], {"a": {}}, {"a": []}, {"a": {"b": 1}}, {"a": [1]}, {"": 1}, {"\0": 1},
    {"a\0": 1}, {"a": "\0"}, {"k" * 41: 1}, {"k" * 60_000: 1}, {"a": "v" * 501}, {"a": "v" * 60_000}, {"a": 2**63},
    {"a": -(2**63) - 1}, {"a": 10**30}, {"a": 10**4_000}, {str(n): n for n in range(51)},
    {str(n): n for n in range(4_000)},
]  # fmt: skip


def wrong_fields() -> Iterator[tuple[str, Case]]:
    for route, base, party in ((CREATE, COLLECTION, "buyer"), (DISBURSE, PAYOUT, "recipient")):
        values: dict[str, list[Any]] = {
            "amount": [None, *NOT_AN_AMOUNT, *NOT_ENOUGH, *TOO_MUCH],
            "channel": [None, *NOT_A_CHANNEL],
            f"{party}Phone": [None, *NOT_A_PHONE],
            f"{party}Name": [*NOT_TEXT, "x" * 101, "x" * 60_000],
            "description": [*NOT_TEXT, "x" * 256, "x" * 60_000],
            "metadata": NOT_METADATA,
        }
        # A collection comes with a key, so that it is fingerprinted too, whatever is in it.
        headers = (b"idempotency-key: new",) if party == "buyer" else ()
        for field, bad in values.items():
            for n, value in enumerate(bad):
                case = post(encoded(base, **{field: value}), 400, "", field, route=route, headers=headers)
                yield f"{party}: {field} {n} is {short(repr(value))}", case
        wrong = encoded(
            {"amount": [], "channel": [], f"{party}Phone": [], f"{party}Name": [], "description": [], "metadata": []}
        )
        fields = ("amount", "channel", f"{party}Phone", f"{party}Name", "description", "metadata")
        yield f"{party}: everything is wrong", post(wrong, 400, "validation_failed", *fields, route=route)
        required = ("amount", "channel", f"{party}Phone")
        yield f"{party}: an empty object", post(b"{}", 400, "validation_failed", *required, route=route)
        yield (
            f"{party}: 4,000 unknown fields",
            post(encoded({f"f{n}": n for n in range(4_000)}), 400, "validation_failed", *required, route=route),
        )
        yield (
            f"{party}: __proto__",
            post(b'{"__proto__": {"amount": 1000}}', 400, "validation_failed", *required, route=route),
        )
    swapped = encoded(PAYOUT)
    yield "a payout's fields for a collection", post(swapped, 400, "field_required", "buyerPhone")


# Headers and queries


def odd_headers() -> Iterator[tuple[str, Case]]:
    keys: dict[str, tuple[bytes, ...]] = {
        "no key": (),
        "an empty key": (b"x-api-key:",),
        "a key of spaces": (b"x-api-key:      ",),
        "a key of raw bytes": (b"x-api-key: \xff\xfe\xfd",),
        "a key of UTF-8": ("x-api-key: mlp_live_ключ🔑".encode(),),
        "a key of 10 KB": (b"x-api-key: " + b"k" * 10_000,),
        "a key of 100 KB": (b"x-api-key: " + b"k" * 100_000,),
        "a key with a tab": (b"x-api-key: mlp_live_\tx",),
        "a key for SQL": (b"x-api-key: ' OR '1'='1",),
        "null": (b"x-api-key: null",),
        "2,000 keys": (b"x-api-key: x",) * 2_000,
        "a wrong key before the right one": (b"x-api-key: x", b"x-api-key: " + KEY.encode()),
        "the right key under another name": (b"x-api-key2: " + KEY.encode(),),
        "the right key as a bearer": (b"authorization: Bearer " + KEY.encode(),),
        "the right key twice in one": (b"x-api-key: " + KEY.encode() + b"," + KEY.encode(),),
    }
    for name, headers in keys.items():
        yield f"key: {name}", Case(request("GET", LIST, headers=headers), 401, "invalid_api_key")
        yield (
            f"key for a payment: {name}",
            Case(request("POST", CREATE, encoded(COLLECTION), headers=headers), 401, "invalid_api_key"),
        )
    good = encoded(COLLECTION)
    bad = {
        "is empty": b"", "is a space": b" ", "has a space": b"a b", "has a tab": b"a\tb", "is 256 long": b"x" * 256,
        "is 60 KB": b"x" * 60_000, "is raw bytes": b"\x80\xff", "is UTF-8": "ключ".encode(),
        "has a no-break space": b"a\xa0b",
    }  # fmt: skip
    for name, key in bad.items():
        header = (b"idempotency-key: " + key,)
        yield f"idempotency key {name}", post(good, 400, "idempotency_key_invalid", "Idempotency-Key", headers=header)
        yield (
            f"payout's idempotency key {name}",
            post(encoded(PAYOUT), 400, "idempotency_key_invalid", "Idempotency-Key", route=DISBURSE, headers=header),
        )
    for name, line in {
        "a NUL in a header": b"x-a: a\0b",
        "a control character in a header": b"idempotency-key: a\x01b",
        "a bare carriage return in a header": b"x-a: a\rb",
        "a header without a colon": b"nocolon",
        "a header without a name": b": x",
        "a space in a header's name": b"x a: b",
        "a space before the colon": b"x-a : b",
        "raw bytes in a header's name": b"x-\xff: b",
        "a folded header": b"x-a: b\r\n  c",
    }.items():
        yield name, post(good, 400, "bad_request", headers=(line,))
    many = tuple(b"x-%d: %s" % (n, b"a" * 1_000) for n in range(1_500))
    yield "1.5 MB of headers", Case(request("GET", LIST, headers=many), 400, "bad_request")
    yield "a header of 1.5 MB", Case(request("GET", LIST, headers=(b"x-a: " + b"a" * 1_500_000,)), 400, "bad_request")
    yield "1.5 MB of empty headers", Case(request("GET", LIST, headers=(b"x:",) * 375_000), 400, "bad_request")


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


def quoted(value: str) -> str:
    """Only what a request line cannot carry is encoded; everything odd stays as it is."""
    return "".join(f"%{byte:02X}" if byte > 126 else chr(byte) for byte in value.encode())


# What is hardly HTTP


def garbage() -> Iterator[tuple[str, Case]]:
    good = encoded(COLLECTION)
    size = b"%d" % len(good)

    def framed(*headers: bytes, body: bytes = good, version: bytes = b"HTTP/1.1") -> bytes:
        lines = [b"POST /v1/payments " + version, b"host: malipo", b"x-api-key: " + KEY.encode(), *headers, b"", body]
        return b"\r\n".join(lines)

    smuggled = framed(b"content-length: " + size)
    raw: dict[str, bytes] = {
        "zeros": b"\0" * 100,
        "words": b"hello, is anybody there?\r\n\r\n",
        "random bytes": bytes(range(128, 256)) * 8,
        "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x55" * 500,
        "an SSH greeting": b"SSH-2.0-OpenSSH_9.2\r\n",
        "a PostgreSQL greeting": b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
        "an HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "a PROXY line": b"PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\n\r\n",
        "an answer": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "a version of the future": b"GET / HTTP/9.9\r\n\r\n",
        "another protocol": b"GET / GOPHER/1.0\r\n\r\n",
        "a version without a number": b"GET / HTTP/\r\n\r\n",
        "no target": b"GET  HTTP/1.1\r\n\r\n",
        "two targets": b"GET / /v1 HTTP/1.1\r\n\r\n",
        "a leading space": b" GET / HTTP/1.1\r\n\r\n",
        "a leading colon": b": GET / HTTP/1.1\r\n\r\n",
        "bare line feeds": b"GET / HTTP/1.1\nhost: x\n\n",
        "a length in words": framed(b"content-length: many"),
        "an empty length": framed(b"content-length:"),
        "a negative length": framed(b"content-length: -1"),
        "a length with a plus": framed(b"content-length: +" + size),
        "a hexadecimal length": framed(b"content-length: 0x10"),
        "a length of two": framed(b"content-length: " + size + b", " + size),
        "a length with a space inside": framed(b"content-length: 1 0"),
        "a length beyond 64 bits": framed(b"content-length: 99999999999999999999999"),
        "two lengths": framed(b"content-length: 0", b"content-length: " + size),
        "the same length twice": framed(b"content-length: " + size, b"content-length: " + size),
        "a length and chunks": framed(
            b"content-length: 4", b"transfer-encoding: chunked", body=b"0\r\n\r\n" + smuggled
        ),
        "chunks and a length": framed(
            b"transfer-encoding: chunked", b"content-length: 4", body=b"0\r\n\r\n" + smuggled
        ),
        "an unknown encoding": framed(b"transfer-encoding: gzip"),
        "identity": framed(b"transfer-encoding: identity", b"content-length: " + size),
        "chunked is not last": framed(b"transfer-encoding: chunked, gzip", body=b"0\r\n\r\n" + smuggled),
        "chunked by another name": framed(b"transfer-encoding: xchunked", body=b"0\r\n\r\n" + smuggled),
        "chunked in quotes": framed(b'transfer-encoding: "chunked"', body=b"0\r\n\r\n" + smuggled),
        "chunked after a tabulator": framed(b"transfer-encoding: \x0bchunked", body=b"0\r\n\r\n" + smuggled),
        "chunked, then something else": framed(
            b"transfer-encoding: chunked", b"transfer-encoding: cow", body=b"0\r\n\r\n" + smuggled
        ),
        "chunked with a space before the colon": framed(b"transfer-encoding : chunked", body=b"0\r\n\r\n" + smuggled),
        "chunked in a folded line": framed(b"x: y\r\n transfer-encoding: chunked", body=b"0\r\n\r\n" + smuggled),
        "a chunk of words": framed(b"transfer-encoding: chunked", body=b"xyz\r\n" + good + b"\r\n0\r\n\r\n"),
        "a negative chunk": framed(b"transfer-encoding: chunked", body=b"-1\r\n" + good + b"\r\n0\r\n\r\n"),
        "a chunk beyond 64 bits": framed(b"transfer-encoding: chunked", body=b"fffffffffffffffff1\r\n" + good),
        "a chunk that is longer than it says": framed(
            b"transfer-encoding: chunked", body=b"5\r\n" + good + b"\r\n0\r\n\r\n"
        ),
        "a chunk without its end": framed(
            b"transfer-encoding: chunked", body=b"%x\r\n" % len(good) + good + b"0\r\n\r\n"
        ),
        "a chunk with a bare line feed": framed(
            b"transfer-encoding: chunked", body=b"%x\n" % len(good) + good + b"\n0\n\n"
        ),
    }
    # A request whose head was fine is answered by the application: its body is not what it must be.
    broken_bodies = {
        "an unknown encoding",
        "chunked by another name",
        "chunked in quotes",
        "a chunk of words",
        "a negative chunk",
        "a chunk beyond 64 bits",
        "a chunk that is longer than it says",
        "a chunk without its end",
        "a chunk with a bare line feed",
    }
    for name, sent in raw.items():
        yield f"raw: {name}", Case(sent, 400, "json_invalid" if name in broken_bodies else "bad_request")


def grid(*families: Callable[[], Iterator[tuple[str, Case]]]) -> dict[str, Case]:
    """Every case by its name."""
    cases: dict[str, Case] = {}
    for family in families:
        for name, case in family():
            assert name not in cases, f"two cases are called {name!r}"
            cases[name] = case
    return cases


GRID = grid(addresses, methods, broken_bodies, large_bodies, wrong_fields, odd_headers, odd_queries, garbage)


# Odd, and still right


ODD_BUT_RIGHT: dict[str, tuple[bytes, int]] = {
    "the last of two equal names counts": (request("POST", CREATE, spliced('"amount": 2000'), key=KEY), 201),
    "unknown fields may hold anything": (
        request("POST", CREATE, spliced('"x": [{}, null, 1e300, "\\u0000"]'), key=KEY),
        201,
    ),
    "an unknown number may have 30 digits": (request("POST", CREATE, spliced(f'"x": {10**30}'), key=KEY), 201),
    "exactly 64 KiB": (
        request("POST", CREATE, spliced('"x": "{}"'.format("x" * (65_536 - len(spliced('"x": ""'))))), key=KEY),
        201,
    ),
    "any content type": (
        request("POST", CREATE, encoded(COLLECTION), key=KEY, headers=(b"content-type: text/xml; charset=utf-16",)),
        201,
    ),
    "no host": (b"GET /v1/wallet HTTP/1.1\r\nx-api-key: " + KEY.encode() + b"\r\n\r\n", 200),
    "HTTP/1.0": (b"GET /v1/wallet HTTP/1.0\r\nx-api-key: " + KEY.encode() + b"\r\n\r\n", 200),
    "an absolute target": (request("GET", "http://elsewhere.example/v1/wallet", key=KEY), 200),
    "a header's name in capitals": (request("GET", "/v1/wallet", headers=(b"X-API-KEY: " + KEY.encode(),)), 200),
    "a body where none is read": (request("GET", "/v1/wallet", b"x" * 200_000, key=KEY), 200),
    "2,000 other headers": (request("GET", "/v1/wallet", key=KEY, headers=(b"x-a: b",) * 2_000), 200),
    "an upgrade nobody offers": (
        request("GET", "/v1/wallet", key=KEY, headers=(b"connection: upgrade", b"upgrade: websocket")),
        200,
    ),
    "a search that is not UTF-8": (request("GET", "/v1/payments?search=%ff%fe", key=KEY), 200),
    "a search with half an escape": (request("GET", "/v1/payments?search=%&search=%z", key=KEY), 200),
    "10,000 unknown parameters": (request("GET", "/v1/payments?" + "a=1&" * 10_000, key=KEY), 200),
    "chunks": (
        request("POST", CREATE, key=KEY, headers=(b"transfer-encoding: chunked",))
        + b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(encoded(COLLECTION)), encoded(COLLECTION)),
        201,
    ),
}  # fmt: skip
