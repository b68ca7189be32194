"""Rules that are known to be broken, each with a seed that shows it. Whoever mends one takes it out."""

KNOWN = {
    "not_in_a_row": 715,
    "asked_too_little": 941,
    "correction_undone": 2324,
    "other_amount_forgotten": 1000502,
    "sent_after_success": 14089,
}


def unknown(findings: list[str]) -> list[str]:
    """What is wrong beyond that."""
    return [each for each in findings if each.partition(":")[0] not in KNOWN]
