"""XML from strangers: nothing but elements and text, and not too much of either."""

import pytest

from malipo_simulator.gateways import xml


def test_names_are_read_without_prefix_and_case() -> None:
    root = xml.read(b'<s:Envelope xmlns:s="x"><s:BODY><Code> 0 </Code><a>1 &lt; 2 &#233;</a></s:BODY></s:Envelope>')
    assert root.name == "envelope"
    body = root.find("Body")
    assert body is not None
    assert body.fields() == {"code": "0", "a": "1 < 2 é"}
    assert root.find("nothing") is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"text",
        b"<a>",
        b"<a></b>",
        b"<a/><b/>",
        b"<!DOCTYPE a><a/>",
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'.encode("utf-16"),
        b"<a>&x;</a>",
        b"<a>" * 13 + b"</a>" * 13,
        b"<a>" + b"<b/>" * 200 + b"</a>",
        b"<a>\xff</a>",
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(xml.BadXml):
        xml.read(text)


def test_what_is_written_is_text_whatever_it_holds() -> None:
    written = xml.write("r", {"a": "<b>&", "c": 5})
    assert written == b"<r><a>&lt;b&gt;&amp;</a><c>5</c></r>"
    assert xml.read(written).fields() == {"a": "<b>&", "c": "5"}
