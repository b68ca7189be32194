"""Workbooks that are small as files, and large, slow or endless for who reads them."""

import struct
import zipfile
import zlib
from io import BytesIO

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(rows: str, *, styles: str = "", shared: str = "") -> bytes:
    """One sheet with these rows, and nothing that it does not need."""
    more = [("styles", styles), ("sharedStrings", shared)]
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        + "".join(
            f'<Override PartName="/xl/{each}.xml" ContentType="{_TYPE}.{each}+xml"/>' for each, text in more if text
        )
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{_RELATIONS}">'
        '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
        + "".join(
            f'<Relationship Id="{each}" Type="{_RELATIONS}/{each}" Target="{each}.xml"/>' for each, text in more if text
        )
        + "</Relationships>",
        "xl/worksheets/sheet1.xml": f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>",
        **{f"xl/{each}.xml": text for each, text in more if text},
    }
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


def many_cells() -> bytes:
    """3 kB, and half a million cells in one row."""
    return workbook("<row>" + "<c/>" * 550_000 + "</row>")


def many_styles() -> bytes:
    """17 kB, of which 6 MB are styles. The lines are honest."""
    border = "<border><left/></border>"
    rows = "".join(
        f'<row><c t="inlineStr"><is><t>{phone}</t></is></c><c><v>1000</v></c></row>'
        for phone in ("0754000101", "0754000102")
    )
    borders = border * (6 * 1024 * 1024 // len(border))
    return workbook(rows, styles=f"<styleSheet {MAIN}><borders>{borders}</borders></styleSheet>")


def shared_text(characters: int) -> bytes:
    """5,000 rows of 40 cells, all with the same text, which is in the file once."""
    rows = ("<row>" + '<c t="s"><v>0</v></c>' * 40 + "</row>") * 5000
    return workbook(rows, shared=f"<sst {MAIN}><si><t>{'a' * characters}</t></si></sst>")


def far_cell() -> bytes:
    """Two cells, with 17 thousand million empty ones between them."""
    return workbook('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def empty_rows() -> bytes:
    """30 MB of rows without cells."""
    return workbook("<row/>" * 5_000_000)


def bomb(megabytes: int = 520) -> bytes:
    """Less than one MB, and so many of rows when it is unpacked: one compressed piece, again and again."""
    piece = b"<row/>" * (1024 * 1024 // 6)
    begin, end = f"<worksheet {MAIN}><sheetData>".encode(), b"</sheetData></worksheet>"
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(begin) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    last = packer.compress(end) + packer.flush(zlib.Z_FINISH)
    crc = zlib.crc32(begin)
    for _ in range(megabytes):
        crc = zlib.crc32(piece, crc)
    size = len(begin) + megabytes * len(piece) + len(end)
    return _with_sheet(packed + repeated * megabytes + last, crc=zlib.crc32(end, crc), size=size)


def declared_size(size: int = 2 * 1024**3) -> bytes:
    """A sheet of a few bytes that is said to be 2 GiB."""
    text = f"<worksheet {MAIN}><sheetData/></worksheet>".encode()
    return _with_sheet(_deflated(text), crc=zlib.crc32(text), size=size)


def understated_size() -> bytes:
    """60 MB of rows that are said to be 100 bytes."""
    made = bomb(60)
    with zipfile.ZipFile(BytesIO(made)) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    return made.replace(struct.pack("<I", size), struct.pack("<I", 100))


def deep_xml() -> bytes:
    """A sheet of elements in elements, half a million deep."""
    return workbook("<row><c>" + "<is>" * 500_000 + "</is>" * 500_000 + "</c></row>")


def entities(value: str) -> bytes:
    """A sheet with a document type, and a cell that names an entity of it. It has an error, so all of it is parsed."""
    rows = '<row><c t="inlineStr"><is><t>&a;</t></is></c><c t="e"><v>#N/A</v></c></row>'
    sheet = f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
    laughs = "".join(f'<!ENTITY {name} "{other * 10}">' for name, other in (("b", "&c;"), ("c", "&d;"), ("d", "&e;")))
    declared = f'<!DOCTYPE worksheet [<!ENTITY a {value}>{laughs}<!ENTITY e "ha">]>{sheet}'.encode()
    return _with_sheet(_deflated(declared), crc=zlib.crc32(declared), size=len(declared))


def _deflated(text: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(text) + packer.flush()


def _with_sheet(packed: bytes, *, crc: int, size: int) -> bytes:
    """A workbook whose sheet is these compressed bytes, with the size that is said of them."""
    parts: list[tuple[bytes, bytes, int, int]] = []
    with zipfile.ZipFile(BytesIO(workbook(""))) as archive:
        for name in archive.namelist():
            text = archive.read(name)
            if name == "xl/worksheets/sheet1.xml":
                parts.append((name.encode(), packed, crc, size))
                continue
            parts.append((name.encode(), _deflated(text), zlib.crc32(text), len(text)))
    made, directory = bytearray(), bytearray()
    for file_name, content, its_crc, its_size in parts:
        common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, its_crc, len(content), its_size, len(file_name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(made)) + file_name
        made += b"PK\x03\x04" + common + file_name + content
    number, at = len(parts), len(made)
    return bytes(
        made + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, number, number, len(directory), at, 0)
    )
