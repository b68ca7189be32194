"""What a test number comes to, as the page says it: from the simulator's own table, and from the ends that the tests of all
networks hold malipo to."""

from malipo.settings import Settings
from malipo_simulator.behaviour import ANY_OTHER, TABLE, PaymentPlan, PhoneBehaviour, ReplyTiming
from tests.api.docs.samples import DOCS
from tests.journeys.networks.network_grid import DETAILS, EXPECTED, Cell

PAGE = (DOCS / "guides" / "trying.md").read_text()
NETWORKS = ("M-Pesa async", "Tigo Pesa", "Airtel Money", "HaloPesa")
NAMES = {"M-Pesa async": "M-Pesa"}
WORDS = {"COLLECTION": "payment", "DISBURSEMENT": "payout"}
# These two take minutes in the grid, so no test of all networks has them.
NOT_IN_GRID = {
    ("111", "COLLECTION"): "FAILED:expired",
    ("111", "DISBURSEMENT"): "FAILED:rejected",
    ("112", "COLLECTION"): "COMPLETED",
    ("112", "DISBURSEMENT"): "COMPLETED",
}


def lines() -> list[str]:
    return [line for row in TABLE for line in (_line(row, "COLLECTION"), _line(row, "DISBURSEMENT"))]


def _line(row: PhoneBehaviour, type_: str) -> str:
    plan = row.collection if type_ == "COLLECTION" else row.disbursement
    ends = {network: _end(row.digits, type_, network) for network in NETWORKS}
    usual = max(ends.values(), key=list(ends.values()).count)
    others = [f"{NAMES.get(network, network)}: {end}" for network, end in ends.items() if end != usual]
    shown = f"{usual} ({'; '.join(others)})" if others else usual
    digits = "anything else" if row.digits == ANY_OTHER else row.digits
    kind = "collection" if type_ == "COLLECTION" else "payout"
    return f"| {digits} | {kind} | {shown} | {_when(plan, usual)} | {_events(plan, usual, type_)} |"


def _end(digits: str, type_: str, network: str) -> str:
    digits = "other" if digits == ANY_OTHER else digits
    told = NOT_IN_GRID.get((digits, type_)) or EXPECTED[Cell(network, type_, digits, is_told=True)]
    if digits == "100" and type_ == "COLLECTION":
        return "as you answer on the phone"
    status, _, reason = told.partition(":")
    if status == "open":
        return "stays `PROCESSING`"
    if status == "COMPLETED":
        return "`COMPLETED`"
    detail = DETAILS.get((type_, digits, network)) or DETAILS.get((type_, digits, None))
    return f"`FAILED` `{reason}`" + (f" with `{detail}`" if detail else "")


def _when(plan: PaymentPlan, end: str) -> str:
    polls = Settings().poll_seconds
    if "PROCESSING" in end:
        return "never"
    if plan.answering is ReplyTiming.HTML_500:
        return "minutes ([how many](payments.md#how-long-can-a-payment-be-open))"
    if plan.queries_not_found:
        return f"{sum(polls[: plan.queries_not_found + 1])} s, by a query"
    if plan.callbacks == 0 and plan.outcome is not None and "COMPLETED" in end:
        return f"{polls[0]} s, by a query"
    if "answer" in end:
        return f"when you answer; after {plan.after_seconds:g} s `FAILED` `expired`"
    return f"{plan.after_seconds:g} s" if plan.after_seconds else "at once"


def _events(plan: PaymentPlan, end: str, type_: str) -> str:
    word = WORDS[type_]
    names = ["payment.pending"] if type_ == "COLLECTION" else []
    if "answer" in end:
        names += ["payment.completed` or `payment.failed"]
    elif "FAILED" in end or "COMPLETED" in end:
        names.append(f"{word}.{'failed' if 'FAILED' in end else 'completed'}")
    if plan.recovers_seconds is not None or plan.reverses_seconds is not None:
        names.append(f"{word}.corrected")
    return ", ".join(f"`{name}`" for name in names) or "none"


def test_the_page_has_every_test_number_with_its_exact_end() -> None:
    written = [line for line in PAGE.splitlines() if line.startswith(("| 1", "| anything else"))]
    assert written == lines()


def test_a_reversal_and_a_later_success_come_seconds_later() -> None:
    seconds = {
        plan.recovers_seconds or plan.reverses_seconds for row in TABLE for plan in (row.collection, row.disbursement)
    }
    assert seconds - {None} == {4}
    assert "four seconds later" in PAGE
