"""Spans of days that a list is often asked for: today, this week, last month. Pure."""

from datetime import date, timedelta

SENTENCES = ("Today", "Yesterday", "This week", "Last week", "This month", "Last month", "This year", "Last year")


def presets(today: date) -> list[tuple[str, str, str]]:
    """Their names, and the first and the last day of each, as a form has them. A week begins on Monday."""
    yesterday = today - timedelta(days=1)
    monday = today - timedelta(days=today.weekday())
    month = today.replace(day=1)
    last_month = month - timedelta(days=1)
    year = month.replace(month=1)
    last_year = year - timedelta(days=1)
    spans = (
        (today, today),
        (yesterday, yesterday),
        (monday, today),
        (monday - timedelta(days=7), monday - timedelta(days=1)),
        (month, today),
        (last_month.replace(day=1), last_month),
        (year, today),
        (last_year.replace(month=1, day=1), last_year),
    )
    return [(name, first.isoformat(), last.isoformat()) for name, (first, last) in zip(SENTENCES, spans, strict=True)]
