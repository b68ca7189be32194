"""Headers that no honest client sends, and what is hardly HTTP. Data; the tests are in test_hostile.py."""

from collections.abc import Iterator

from tests.api.hostile.case import CREATE, DISBURSE, KEY, LIST, Case, encoded, post
from tests.api.raw_http import request
from tests.conftest import COLLECTION, PAYOUT

# Headers


def odd_headers() -> Iterator[tuple[str, Case]]:
    keys: dict[str, tuple[bytes, ...]] = {
        "no key": (),
        "an empty key": (b"x-api-key:",),
        "a key of spaces": (b"x-api-key:      ",),
        "a key of raw bytes": (b"x-api-key: \xff\xfe\xfd",),
        "a key of UTF-8": ("x-api-key: mlp_live_ключ🔑".encode(),),
        "a key of 10 KB": (b"x-api-key: " + b"k" * 10_000,),
        "a key of 30 KB": (b"x-api-key: " + b"k" * 30_000,),
        "a key with a tab": (b"x-api-key: mlp_live_\tx",),
        "a key for SQL": (b"x-api-key: ' OR '1'='1",),
        "null": (b"x-api-key: null",),
        "90 keys": (b"x-api-key: x",) * 90,
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
        "is 30 KB": b"x" * 30_000, "is raw bytes": b"\x80\xff", "is UTF-8": "ключ".encode(),
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
        "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
        "two hosts": b"GET /healthz HTTP/1.1\r\nhost: malipo\r\nHost: malipo\r\n\r\n",
        "two hosts in HTTP/1.0": b"GET /healthz HTTP/1.0\r\nhost: malipo\r\nhost: other\r\n\r\n",
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
