"""The settings of a transaction that reads whole tables or large sets of rows. Pure."""


def whole_sets_sql(work_mem: str) -> str:
    """Statements that allow every kind of scan and join, which `db/database.py` forbids to look-ups by a key, give a
    statement this much memory, and take away its timeout."""
    return f"""
        SET LOCAL work_mem = '{work_mem}'; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;
        SET LOCAL enable_mergejoin = on; SET LOCAL statement_timeout = 0;
    """
