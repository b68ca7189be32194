"""Workbooks that are small as files, and large, slow or endless for who reads them."""

import zipfile
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
