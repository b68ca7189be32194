"""The ids of a payment's trace."""

from malipo.tracing.payment_trace import ids_of, trace_id_of


def test_the_trace_of_a_payment_is_the_same_in_every_process_and_version() -> None:
    assert trace_id_of("txn_01m7f5pgj32r00k6agv0vfcxec") == "425397469a2fd639a7d7bd284a8ce016"


def test_two_payments_have_two_traces_of_valid_ids() -> None:
    many = {ids_of(f"txn_{number}") for number in range(1000)}
    assert len({trace for trace, _ in many}) == len({span for _, span in many}) == 1000
    assert all(0 < trace < 2**128 and 0 < span < 2**64 for trace, span in many)
