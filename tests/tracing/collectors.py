"""OTLP collectors: one that reads what it gets, and one that takes connections and never answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    url: str = ""
    spans: list[tuple[str, Span]] = field(default_factory=list)  # the process that sent it

    async def take(self, request: web.Request) -> web.Response:
        sent = ExportTraceServiceRequest.FromString(await request.read())
        for resource_spans in sent.resource_spans:
            of = {each.key: each.value.string_value for each in resource_spans.resource.attributes}
            assert of["service.name"] == "malipo"
            for scope_spans in resource_spans.scope_spans:
                self.spans += [(of["malipo.process"], each) for each in scope_spans.spans]
        return web.Response(content_type="application/x-protobuf")

    def of_trace(self, trace_id: str) -> dict[str, tuple[str, Span]]:
        """By their names; the process, and the span."""
        return {span.name: (process, span) for process, span in self.spans if span.trace_id.hex() == trace_id}


def attributes_of(span: Span) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    application = web.Application()
    application.router.add_post("/v1/traces", made.take)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()


@asynccontextmanager
async def hanging_collector() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Its address, and whether anybody has come."""
    has_come = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        has_come.set()
        while await reader.read(65536):
            pass
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", has_come
    finally:
        server.close()
