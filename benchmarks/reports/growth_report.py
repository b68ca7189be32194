"""`bench growth` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from typing import Any

from benchmarks.growth import trials
from benchmarks.growth.disk_use import Relation
from benchmarks.growth.tables import GROWING, Kept
from benchmarks.growth.trials import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "bytes a payment on disk, by table and index, and how long each is kept"
ABOUT = """
20,000 payments of the ordinary mix (85 % collections, of which a tenth is declined, and 15 % payouts) go through
`malipo api`, `malipo worker` and a simulated network to the merchant's webhook (with --quick 2,000). Then the sizes of
all tables and indexes are divided by their number. --payments asks for more, or for fewer.
"""


def run(options: Any, say: Say) -> Result:
    report = trials.measure(replace(QUICK if options.quick else Plan(), **changes(options, "payments")), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "growth",
        "postgres": report.postgres,
        "payments": report.payments,
        "wal_bytes": round(report.wal_bytes),
        "tables": {
            table: {
                "bytes": round(report.of_table(table)),
                "kept": kept,
                "relations": {_name(each): round(size) for each, size in _relations(report, table).items()},
            }
            for table, kept in _tables(report).items()
        },
        "bytes": {kept: round(report.kept(kept)) for kept in Kept},
    }


def _tables(report: Report) -> dict[str, Kept]:
    """The largest first."""
    return dict(sorted(GROWING.items(), key=lambda each: -report.of_table(each[0])))


def _relations(report: Report, table: str) -> dict[Relation, float]:
    return {relation: size for relation, size in report.bytes_each.items() if relation.table == table}


def _name(relation: Relation) -> str:
    return relation.index or "rows"


def _used(report: Report, relation: Relation) -> str:
    """Of an index, how often it was read, for one payment; of a table, which part of its updates was HOT."""
    if relation.index is not None:
        return f"{report.statistics.scans[relation] / report.payments:.2f}"
    updates, hot = report.statistics.updates[relation.table]
    return f"{hot / updates:.0%} HOT" if updates else ""


def _text(report: Report) -> str:
    lines = [
        f"PostgreSQL {report.postgres}; {report.payments:,} payments, {report.wal_bytes:,.0f} bytes of WAL each",
        "",
        f"{'bytes a payment':<46}{'on disk':>9}{'packed':>9}{'used':>9}   kept",
    ]
    for table, kept in _tables(report).items():
        packed = sum(report.packed_each[each] for each in _relations(report, table))
        lines.append(f"{table:<46}{report.of_table(table):>9,.0f}{packed:>9,.0f}{'':>9}   {kept}")
        lines += [
            f"  {_name(each):<44}{size:>9,.0f}{report.packed_each[each]:>9,.0f}{_used(report, each):>9}"
            for each, size in _relations(report, table).items()
        ]
    lines += ["", *(f"{kept:<46}{report.kept(kept):>9,.0f}" for kept in Kept)]
    return "\n".join([*lines, f"{'all':<46}{report.kept(*Kept):>9,.0f}"])
