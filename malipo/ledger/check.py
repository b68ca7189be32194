"""The ledger check: recomputes every balance from the moves and lists what differs. It only reads."""

from dataclasses import dataclass

from malipo import clock
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.db.whole_sets import whole_sets_sql
from malipo.ledger.accounts import HOUSE
from malipo.ledger.statement import CATEGORIES, KINDS, TREE
from malipo.rollups import check as rollup_check
from malipo.rollups.store import Rollup

_HOUSE = f"'{HOUSE}'::text COLLATE \"C\""  # which is sorted as the merchants' ids are


@dataclass(frozen=True)
class LedgerFinding:
    """One difference between what is stored and what is computed."""

    what: str
    where: str
    stored: int | None
    computed: int | None
    newer_schema: int | None = None  # not wrong but unknown: a newer version with this migration has written the row

    @property
    def is_wrong(self) -> bool:
        return self.newer_schema is None


async def prepare(connection: Conn) -> None:
    """Prepare a connection for reading whole tables: with more memory, all kinds of joins, so that PostgreSQL need not
    sort first, and without a statement timeout.
    """
    await connection.execute(whole_sets_sql("256MB"))


async def balances(connection: Conn) -> dict[str, int]:
    """The balances of the house's accounts and the sums of the merchants' accounts, from the moves alone."""
    rows = await connection.fetch(
        """
        SELECT CASE account WHEN 'float' THEN 'float ' || channel ELSE account END AS account,
               sum(change)::bigint AS balance
        FROM (SELECT source, target, channel, sum(amount) AS amount FROM moves GROUP BY 1, 2, 3) AS routes
        CROSS JOIN LATERAL (VALUES (target, amount), (source, -amount)) AS entries (account, change)
        GROUP BY 1 ORDER BY 1
        """
    )
    return {row["account"]: row["balance"] for row in rows}


async def check(connection: Conn) -> list[LedgerFinding]:
    """All differences between the stored balances, the statement lines and the moves."""
    return [
        *await _wrong_balances(connection),
        *await _wrong_statement_lines(connection),
        *await wrong_line_counts(connection),
        *await wrong_bookings(connection),
        *await wrong_proposals(connection),
        *await wrong_undos(connection),
        *await wrong_releases(connection),
        *await wrong_invoices(connection),
        *await wrong_cents(connection),
        *await wrong_cents_of_files(connection),
    ]


async def _wrong_balances(connection: Conn) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        WITH summed AS (
            SELECT merchant_id,
                   sum(CASE 'wallet' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END)::bigint
                       AS available,
                   sum(CASE 'in_flight' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END)::bigint
                       AS in_flight,
                   count(statement_line) AS statement_lines
            FROM moves GROUP BY merchant_id
        )
        SELECT coalesce(w.merchant_id, s.merchant_id) AS merchant_id, checked.*
        FROM wallets w FULL JOIN summed s USING (merchant_id)
        -- The house has no wallet, and no move of it touches one.
        CROSS JOIN LATERAL (SELECT CASE s.merchant_id WHEN '{HOUSE}' THEN 0 END AS nothing) AS house
        CROSS JOIN LATERAL (VALUES
            ('wallet', coalesce(w.available, house.nothing), coalesce(s.available, 0)),
            ('in flight', coalesce(w.in_flight, house.nothing), coalesce(s.in_flight, 0)),
            ('statement lines', coalesce(w.statement_lines, house.nothing), coalesce(s.statement_lines, 0))
        ) AS checked (what, stored, computed)
        WHERE checked.stored IS DISTINCT FROM checked.computed
        ORDER BY 1, 2
        """
    )
    return [LedgerFinding(row["what"], row["merchant_id"], row["stored"], row["computed"]) for row in rows]


async def _is_a_chain(connection: Conn) -> bool:
    """Whether each line starts from the balance after the line before it, up to the balance of the wallet.

    This needs no join: the fingerprints of the balances after all lines but the last have the same sum as the
    fingerprints of the balances before all lines but the first.
    """
    (sums,) = await connection.fetch(
        """
        SELECT coalesce(sum(hash_record_extended(ROW(merchant_id, statement_line, balance_after), 0)), 0)
               - coalesce(sum(hash_record_extended(ROW(merchant_id, statement_line - 1, balance_after - change), 0))
                          FILTER (WHERE statement_line > 1), 0) AS last,
               count(*) FILTER (WHERE statement_line = 1 AND balance_after <> change) AS wrong_firsts,
               (SELECT coalesce(sum(hash_record_extended(ROW(merchant_id, statement_lines, available), 0)), 0)
                FROM wallets WHERE statement_lines > 0) AS wallets
        FROM (SELECT merchant_id, statement_line, balance_after,
                     CASE WHEN target = 'wallet' THEN amount ELSE -amount END AS change
              FROM moves WHERE statement_line IS NOT NULL) AS lines
        """
    )
    return not sums["wrong_firsts"] and bool(sums["last"] == sums["wallets"])


async def _wrong_statement_lines(connection: Conn) -> list[LedgerFinding]:
    if await _is_a_chain(connection):
        return []
    rows = await connection.fetch(
        """
        SELECT merchant_id, statement_line, place, balance_after, expected FROM (
            SELECT merchant_id, statement_line, balance_after,
                   row_number() OVER lines AS place,
                   sum(CASE WHEN target = 'wallet' THEN amount ELSE -amount END) OVER lines ::bigint AS expected
            FROM moves WHERE statement_line IS NOT NULL
            WINDOW lines AS (PARTITION BY merchant_id ORDER BY statement_line)
        ) AS running
        WHERE balance_after <> expected OR statement_line <> place
        ORDER BY merchant_id, statement_line LIMIT 100
        """
    )
    found = []
    for row in rows:
        where = f"{row['merchant_id']} line {row['statement_line']}"
        if row["statement_line"] != row["place"]:
            found.append(LedgerFinding("number of a statement line", where, row["statement_line"], row["place"]))
        if row["balance_after"] != row["expected"]:
            found.append(LedgerFinding("balance after a statement line", where, row["balance_after"], row["expected"]))
    return found


async def wrong_line_counts(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    """Rollups of statements that differ from their lines, for a range of merchants."""
    cell = " ".join(
        f"WHEN m.source = '{source}' AND m.target = '{target}' THEN {CATEGORIES[kind]}"
        for (source, target), kind in KINDS.items()
    )
    things = f"""
        SELECT m.merchant_id, m.statement_line >> {TREE.bits(0)} AS bucket, CASE {cell} END AS cell, 1 AS count
        FROM rollup_positions k JOIN moves m ON m.merchant_id = k.merchant_id AND m.statement_line <= k.position
        WHERE k.rollup = 'statement' AND {within.holds("k.merchant_id")}
    """
    wrong = await rollup_check.check(connection, Rollup.STATEMENT, things, within)
    return [LedgerFinding("statement lines counted", each.where, each.stored, each.computed) for each in wrong]


async def wrong_bookings(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        WITH expected AS (
            SELECT merchant_id, id, amount,
                   CASE kind WHEN 'top_up' THEN 'bank' WHEN 'suspense_release' THEN 'suspense' ELSE 'wallet' END
                       AS source,
                   CASE kind WHEN 'settlement' THEN 'bank' WHEN 'suspense_take_back' THEN 'suspense' ELSE 'wallet' END
                       AS target, NULL AS channel
            FROM bookings WHERE {within.holds("merchant_id", "id")}
            UNION ALL
            SELECT {_HOUSE}, id, amount, source, target, CASE WHEN 'float' IN (source, target) THEN channel END
            FROM house_bookings WHERE {within.holds(_HOUSE, "id")}
        ), found AS (
            SELECT merchant_id, cause_id AS id, amount, source, target, channel FROM moves
            WHERE step = 'booking' AND {within.holds("merchant_id", "cause_id")}
        )
        SELECT coalesce(e.id, f.id) AS id, e.amount AS computed, f.amount AS stored
        FROM expected e FULL JOIN found f USING (merchant_id, id)
        WHERE (e.source, e.target, e.amount, e.channel) IS DISTINCT FROM (f.source, f.target, f.amount, f.channel)
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("booking", row["id"], row["stored"], row["computed"]) for row in rows]


async def wrong_proposals(connection: Conn) -> list[LedgerFinding]:
    """Approved proposals without a booking under their id, and open or rejected ones with a booking."""
    rows = await connection.fetch(
        """
        WITH booked AS (
            SELECT id, merchant_id, kind, bank_reference, amount, NULL AS channel, NULL AS account, false AS is_undone,
                   NULL::boolean AS is_back
            FROM bookings
            UNION ALL
            SELECT id, NULL, CASE WHEN source = 'float' THEN 'from_bank' ELSE 'to_bank' END, reference, amount, channel,
                   account, EXISTS (SELECT FROM house_bookings u WHERE u.reverses = h.id), NULL
            FROM house_bookings h WHERE kind = 'bank_transfer'
            UNION ALL
            SELECT id, NULL, kind, reference, amount, channel, account, false,
                   (CASE WHEN source IN ('bank', 'float') THEN 'in' ELSE 'out' END
                    <> CASE WHEN kind IN ('bank_charge', 'tax', 'vat_payment') THEN 'out' ELSE 'in' END)
            FROM house_bookings
            WHERE kind IN ('opening_balance', 'capital', 'interest', 'other_income', 'bank_charge', 'tax',
                           'vat_payment')
        ), proposed AS (
            SELECT id, amount, is_approved, decided_at, terms ->> 'merchant_id' AS merchant_id,
                   terms ->> 'kind' AS kind, terms ->> 'bank_reference' AS bank_reference,
                   terms ->> 'channel' AS channel, terms ->> 'account' AS account,
                   CASE WHEN action IN ('book_at_bank', 'book_equity')
                        THEN (terms ->> 'is_back')::boolean END AS is_back
            FROM proposals
            WHERE action IN ('top_up', 'settlement', 'suspense_release', 'suspense_take_back', 'transfer',
                             'book_at_bank', 'book_equity')
        )
        SELECT p.id, b.amount AS stored, CASE WHEN p.is_approved THEN p.amount END AS computed
        FROM proposed p LEFT JOIN booked b USING (id)
        WHERE CASE WHEN p.is_approved
                   THEN (b.merchant_id, b.kind, b.bank_reference, b.amount, b.channel, b.account, b.is_back)
                        IS DISTINCT FROM
                        (p.merchant_id, p.kind, p.bank_reference, p.amount, p.channel, p.account, p.is_back)
                   ELSE b.id IS NOT NULL END
        UNION
        SELECT p.id, b.amount, NULL FROM proposed p JOIN booked b USING (kind, bank_reference)
        WHERE p.decided_at IS NULL AND p.channel IS NOT DISTINCT FROM b.channel AND NOT b.is_undone
        ORDER BY 1 LIMIT 100
        """
    )
    return [LedgerFinding("proposed booking", row["id"], row["stored"], row["computed"]) for row in rows]


async def wrong_invoices(connection: Conn) -> list[LedgerFinding]:
    """Invoices and credit notes whose VAT is not booked as they say, and bookings of VAT without a document."""
    rows = await connection.fetch(
        """
        WITH booked AS (SELECT id, reference, source, target, amount FROM house_bookings WHERE kind = 'vat'),
        expected AS (
            SELECT booking_id AS id, number AS reference, vat AS amount,
                   CASE kind WHEN 'invoice' THEN 'fees' ELSE 'vat' END AS source,
                   CASE kind WHEN 'invoice' THEN 'vat' ELSE 'fees' END AS target
            FROM invoices WHERE vat > 0
        )
        SELECT coalesce(e.reference, b.reference) AS id, b.amount AS stored, e.amount AS computed
        FROM expected e FULL JOIN booked b USING (id)
        WHERE (e.reference, e.source, e.target, e.amount) IS DISTINCT FROM (b.reference, b.source, b.target, b.amount)
        ORDER BY 1 LIMIT 100
        """
    )
    found = [LedgerFinding("invoice", row["id"], row["stored"], row["computed"]) for row in rows]
    return found + await _gaps_in_invoices(connection)


async def _gaps_in_invoices(connection: Conn) -> list[LedgerFinding]:
    """Series of a year in which a number is missing: how many documents there are, and the last number that was
    given."""
    rows = await connection.fetch(
        """
        SELECT coalesce(i.series, c.series) || '-' || coalesce(i.year, c.year) AS id,
               coalesce(i.documents, 0) AS stored, greatest(i.last, c.last) AS computed
        FROM (SELECT series, year, count(*) AS documents, max(ordinal) AS last FROM invoices GROUP BY 1, 2) i
        FULL JOIN invoice_counters c ON (c.series, c.year) = (i.series, i.year)
        WHERE (i.documents, i.last) IS DISTINCT FROM (c.last::bigint, c.last) ORDER BY 1 LIMIT 100
        """
    )
    return [LedgerFinding("numbers of invoices", row["id"], row["stored"], row["computed"]) for row in rows]


async def wrong_releases(connection: Conn) -> list[LedgerFinding]:
    """House bookings of which merchants were credited more out of suspense than they have put there. Matching may undo
    one afterwards, and only matching: that shows in the list of suspense."""
    rows = await connection.fetch(
        f"""
        SELECT r.releases AS id, r.amount AS stored, coalesce(h.amount, 0) AS computed
        FROM (SELECT releases, sum(CASE kind WHEN 'suspense_release' THEN amount ELSE -amount END)::bigint AS amount
              FROM bookings WHERE releases IS NOT NULL GROUP BY 1) r
        LEFT JOIN LATERAL (
            SELECT sum(CASE 'suspense' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END)::bigint AS amount
            FROM house_bookings b
            WHERE r.releases = b.id OR r.releases = b.reverses AND b.booked_by <> '{SYSTEM_NAME}'
        ) h ON true
        WHERE r.amount > coalesce(h.amount, 0) OR r.amount < 0 ORDER BY 1 LIMIT 100
        """
    )
    return [LedgerFinding("released from suspense", row["id"], row["stored"], row["computed"]) for row in rows]


async def wrong_undos(connection: Conn) -> list[LedgerFinding]:
    """House bookings that undo another one, and do not reverse exactly its move."""
    rows = await connection.fetch(
        """
        SELECT u.id, u.amount AS stored, b.amount AS computed
        FROM house_bookings u JOIN house_bookings b ON b.id = u.reverses
        WHERE (u.channel, u.source, u.target, u.amount) IS DISTINCT FROM (b.channel, b.target, b.source, b.amount)
           OR b.kind = 'undo'
        ORDER BY 1 LIMIT 100
        """
    )
    return [LedgerFinding("booking that undoes another one", row["id"], row["stored"], row["computed"]) for row in rows]


async def wrong_cents(connection: Conn) -> list[LedgerFinding]:
    """Accounts whose bookings could not move more than half a shilling in cents: the float would differ by more than
    that."""
    rows = await connection.fetch(
        """
        SELECT channel, account, sum(cents)::bigint AS stored, least(greatest(sum(cents), -50), 50)::bigint AS computed
        FROM house_bookings WHERE cents <> 0 GROUP BY 1, 2 HAVING abs(sum(cents)) > 50 ORDER BY 1, 2 LIMIT 100
        """
    )
    return [
        LedgerFinding(
            "cents of an account", f"{row['channel']} {row['account']}".strip(), row["stored"], row["computed"]
        )
        for row in rows
    ]


async def wrong_cents_of_files(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    """Bookings of fees or sweeps of a file and a day that are not the sum of its lines, in shillings and cents. Only
    files with cents are compared.

    The sum is without lines that are unmatched, are payments', or were booked one by one by operators.
    """
    rows = await connection.fetch(
        f"""
        SELECT b.id, b.cents AS stored, l.cents AS computed
        FROM (
            SELECT id, file_id, account, reference, CASE kind WHEN 'network_fee' THEN 'fee' ELSE kind END AS kind,
                   (CASE source WHEN 'float' THEN amount ELSE -amount END) * 100 + cents AS cents
            FROM house_bookings b WHERE kind IN ('network_fee', 'sweep') AND {within.holds("file_id")}
              AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
        ) b JOIN (
            SELECT file_id, account, kind, {clock.day_sql("moved_at")}::text AS reference,
                   sum(amount * 100 + cents)::bigint AS cents
            FROM statement_lines l
            WHERE file_id IN (SELECT file_id FROM statement_lines WHERE cents <> 0 AND {within.holds("file_id")})
              AND (kind = 'sweep' OR kind = 'fee' AND amount < 0)
              AND NOT EXISTS (SELECT FROM open_statement_lines o WHERE o.line_id = l.id)
              AND NOT EXISTS (SELECT FROM statement_matches m WHERE m.line_id = l.id AND m.role = 'payment')
              AND NOT EXISTS (SELECT FROM house_bookings h WHERE h.line_id = l.id)
            GROUP BY 1, 2, 3, 4
        ) l USING (file_id, account, kind, reference)
        WHERE b.cents <> l.cents ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("cents of a booking", row["id"], row["stored"], row["computed"]) for row in rows]
