"""Faults in reading a network's statement: amounts, times, signs, balances."""

from tests.faults.fault import Fault

_CELLS = ("network_statements/test_cell_values.py",)
_CHAIN = ("network_statements/test_adds_up.py",)
_FILES = ("network_statements/test_golden_files.py",)

FAULTS = (
    Fault(
        "the name of an account is looked up before the lock",
        "import_statement",
        """    await store.lock_channel(tx, channel)
    # Under the lock: who imports a first statement at once may name the account "Main" or "main".
    account = _known_name(request.account, await store.find_accounts(tx, channel))
""",
        """    account = _known_name(request.account, await store.find_accounts(tx, channel))
    await store.lock_channel(tx, channel)
""",
        "Two first imports at once make two accounts of one, and the close adds both.",
        ("reconciliation/test_import_statement.py",),
    ),
    Fault(
        "an amount in parentheses came in",
        "_cents_of_text",
        'return -cents if is_negative or "-" in (before, after) else cents',
        'return -cents if "-" in (before, after) else cents',
        "A charge of a network is booked as income.",
        _CELLS,
    ),
    Fault(
        "1.000 is one shilling",
        "_cents_of_text",
        'if fraction is not None and _AMBIGUOUS[decimal_mark].fullmatch(f"{whole}{decimal_mark}{fraction}"):',
        "if False:",
        "An amount is a thousandth of what the network wrote.",
        _CELLS,
    ),
    Fault(
        "parts of a cent are dropped",
        "_cents_of_text",
        'if fraction is not None and fraction[2:].strip("0"):',
        "if False:",
        "An amount that was read with the wrong mark is taken.",
        _CELLS,
    ),
    Fault(
        "the afternoon is the morning",
        "_datetime",
        'hour = hour % 12 + (12 if half in "Pp" else 0)',
        "hour = hour % 12",
        "Lines of the afternoon are matched with payments of the morning.",
        _CELLS,
    ),
    Fault(
        "the times of a statement are those of London",
        "_datetime",
        "tzinfo=there,",
        "tzinfo=UTC,",
        "The lines of three hours fall into another day.",
        (*_CELLS, *_FILES),
    ),
    Fault(
        "what was withdrawn came in",
        "_two_columns",
        "return paid_in or -abs(withdrawn)",
        "return paid_in or abs(withdrawn)",
        "Payouts of a statement are collections.",
        _FILES,
    ),
    Fault(
        "what went out by its direction came in",
        "_by_direction",
        "return -abs(amount)",
        "return abs(amount)",
        "Payouts of a statement are collections.",
        _FILES,
    ),
    Fault(
        "a line that failed is evidence",
        "Statuses.is_moved",
        "self.failed[word] += 1\n            return False",
        "self.failed[word] += 1\n            return True",
        "A payment that failed is completed by its own line.",
        (*_FILES, "network_statements/test_profiles.py"),
    ),
    Fault(
        "a line with an unknown status is evidence",
        "Statuses.is_moved",
        "unknown.rows.append(row)\n        return False",
        "unknown.rows.append(row)\n        return True",
        "A line that the network calls “on hold” completes a payment.",
        (*_FILES, "network_statements/test_profiles.py", "reconciliation/test_import_statement.py"),
    ),
    Fault(
        "balances need not follow from each other",
        "_Direction.note",
        "if balance != expected:",
        "if False:",
        "A statement of which lines were cut out is believed.",
        _CHAIN,
    ),
    Fault(
        "the lines of a statement need not add up to its closing",
        "Chain.problems",
        "missing = heading.closing - heading.opening - self.total",
        "missing = 0",
        "A statement of which lines were cut out is believed.",
        _CHAIN,
    ),
    Fault(
        "the opening balance of a file counts its first line twice",
        "Chain.opening",
        "return _balance(oldest) - oldest.amount * 100 - oldest.cents",
        "return _balance(oldest)",
        "Two files that follow each other seem to have a gap.",
        _CHAIN,
    ),
    Fault(
        "what a file moved has the wrong sign",
        "Chain.add",
        "self.money_out -= amount",
        "self.money_out += amount",
        "A statement that adds up is refused, and one that does not is taken.",
        _CHAIN,
    ),
    Fault(
        "a stored problem with a line break is another one",
        "_pattern",
        ", re.DOTALL)",
        ")",
        "A page of statements ends in an error, and the day cannot be closed.",
        ("reconciliation/test_stored_problems.py",),
    ),
    Fault(
        "a stored problem is read by the beginning of its sentence",
        "problem_of",
        "_pattern(code).fullmatch(text)",
        "_pattern(code).match(text)",
        "A gap is shown with other figures than the file has.",
        ("reconciliation/test_stored_problems.py",),
    ),
    Fault(
        "a day that was missed is never fetched",
        "missing_days",
        "(day == yesterday or (first is not None and first <= day))",
        "day == yesterday",
        "The network is away for a day: what it has paid on the day before is told by nobody, and the close is stopped.",
        ("worker/test_statement_fetcher.py",),
    ),
    Fault(
        "a fetched statement is read in the loop that sends payments",
        "StatementFetcher._import_beside",
        "return await asyncio.to_thread(lambda: asyncio.run(work()))",
        "return await work()",
        "No payment is sent, and no answer heard, for as long as a file is read.",
        ("worker/test_statement_fetcher.py",),
    ),
)
