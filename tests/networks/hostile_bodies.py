"""Bodies that no connector should accept, for every network."""

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

# Objects whose payment nobody can find: what should be a key is none, wherever a network has it.
NO_KEYS = {
    "deep payloads": b'{"payload":' * 4_000 + b"{}" + b"}" * 4_000,
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><x>&y;</x>',
    "bytes that are no UTF-8 in a key": b'{"input_ThirdPartyConversationID":"\xff\xfe","input_ResultCode":"INS-0"}',
    "a key that is an object": b'{"transaction":{"id":{},"status_code":"TS"},"input_ThirdPartyConversationID":{}}',
    "a key that is a number": b'{"transaction":{"id":1,"status_code":"TS"},"input_ThirdPartyConversationID":1,'
    b'"input_ResultCode":0}',
    "a key with SQL": b'{"transaction":{"id":"\' OR 1=1 --","status_code":"TS"},'
    b'"input_ThirdPartyConversationID":"\' OR 1=1 --","input_ResultCode":"0"}',
    "a key of sixty thousand letters": b'{"transaction":{"id":"%b","status_code":"TS"},'
    b'"input_ThirdPartyConversationID":"%b","input_ResultCode":"0"}' % (b"A" * 60_000, b"A" * 60_000),
}
