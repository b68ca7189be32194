"""The behaviour that all simulated connections share: nothing is paused, and nothing waits in a buffer."""

import asyncio
from typing import Any


class SimulatedTransport(asyncio.Transport):
    protocol: Any = None
    is_closed = False

    def is_closing(self) -> bool:
        return self.is_closed

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_protocol(self) -> Any:
        return self.protocol

    def is_reading(self) -> bool:
        return not self.is_closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False
