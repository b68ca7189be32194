"""Bodies and fields that no honest client sends. Data; the tests are in test_hostile.py."""

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any

from tests.api.hostile.case import CREATE, DISBURSE, KEY, Case, encoded, post, short, spliced
from tests.api.raw_http import request
from tests.conftest import COLLECTION, PAYOUT

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
    # What stands beside the body stays below its own limit, however the parts arrive.
    small = b"2\r\nxx\r\n" * 35_000
    yield "over 64 KiB in chunks", Case(head + chunk * 5 + b"0\r\n\r\n", 413, "body_too_large")
    yield "over 64 KiB in chunks without end", Case(head + chunk * 20, 413, "body_too_large")
    yield "over 64 KiB in chunks of two bytes", Case(head + small + b"0\r\n\r\n", 413, "body_too_large")
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
