"""The ids of spans: random, but for the first span of a payment's trace, whose ids are made from the transaction's."""

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator


class SpanIds(RandomIdGenerator):
    def __init__(self) -> None:
        super().__init__()
        # Of the span that is begun next. It is begun in the same turn of the loop, so no other can take them.
        self.chosen: tuple[int, int] | None = None

    def generate_trace_id(self) -> int:
        return self.chosen[0] if self.chosen is not None else super().generate_trace_id()

    def generate_span_id(self) -> int:
        if self.chosen is None:
            return super().generate_span_id()
        (_, span_id), self.chosen = self.chosen, None
        return span_id
