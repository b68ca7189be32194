"""Bodies that nobody should be able to understand, whichever network they claim to come from."""

UNREADABLE = {
    "nothing": b"",
    "a blank": b"  \r\n",
    "half an object": b'{"transaction":{"id":"0K3',
    "a page": b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>",
    "a form": b"input_ResultCode=INS-0&input_TransactionID=1",
    "invalid UTF-8": b'{"a":"\xff\xfe"}',
    "UTF-16": '{"a":"b"}'.encode("utf-16"),
    "single quotes": b"{'a':'b'}",
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":-Infinity}',
    "half a surrogate": b'{"a":"\\ud800"}',
    "a control character": b'{"a":"\x00"}',
    "deep lists": b"[" * 100_000,
    "deep and closed lists": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"transaction":' * 100_000,
    "an object twice": b"{}{}",
    "bytes": bytes(range(256)),
}

WRONG_SHAPES = {
    "null": b"null",
    "true": b"true",
    "a number": b"42",
    "a text": b'"INS-0"',
    "a list": b"[]",
    "a list of an object": b'[{"input_ResultCode":"INS-0","transaction":{"id":"0K3ABCDEFGHJ1234","status_code":"TS"}}]',
    "an empty object": b"{}",
    "a huge number": b'{"transaction":' + b"9" * 10_000 + b"}",
    "a number beyond floats": b'{"transaction":1e999}',
}
