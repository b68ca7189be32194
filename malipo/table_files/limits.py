"""The limits for reading files from outside. Pure.

A limit is far above the size of honest files, and low enough that two hostile files at once do not disturb the service.
Measured in docs/decisions/0037-files-are-read-in-a-process-of-their-own.md.
"""

import msgspec

_MEGABYTE = 1024 * 1024


class ReadingLimits(msgspec.Struct, frozen=True, kw_only=True):
    memory_bytes: int  # of the process that reads
    seconds: int  # of processor time; one more for each megabyte of the file
    unpacked_bytes: int  # of a workbook: a small file can hold a very large one
    rows: int
    columns: int
    cells: int
    characters: int
    cell_characters: int = 131_072
    cuts: int | None = None  # cells are cut to so many characters, and rows to `columns`; None: they are refused


# Statements of a network have up to millions of lines. They are read row by row, and not kept.
STATEMENT = ReadingLimits(
    memory_bytes=512 * _MEGABYTE,
    seconds=10,
    unpacked_bytes=512 * _MEGABYTE,
    rows=20_000_000,
    columns=256,
    cells=400_000_000,
    characters=8_000_000_000,
    cell_characters=32_767,
)
# A list of payouts has at most 5,000 lines, and is kept whole.
PAYOUTS = ReadingLimits(
    memory_bytes=128 * _MEGABYTE,  # With the service itself, less than 150 MB more while a file is read.
    seconds=10,
    unpacked_bytes=64 * _MEGABYTE,
    rows=20_000,
    columns=40,
    cells=800_000,
    characters=6_000_000,
    cuts=300,
)
# A bank's statement has thousands of lines, and as XML about forty elements for each. It is kept whole.
BANK_STATEMENT = ReadingLimits(
    memory_bytes=256 * _MEGABYTE,
    seconds=20,
    unpacked_bytes=256 * _MEGABYTE,
    rows=10_000_000,
    columns=64,
    cells=50_000_000,
    characters=600_000_000,
    cell_characters=10_000,
)
