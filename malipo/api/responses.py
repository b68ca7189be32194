"""JSON responses: success, pagination, and the form of long answers."""

from enum import StrEnum
from typing import Any

import msgspec
from starlette.responses import Response


class AnswerForm(StrEnum):
    """The form of a long answer."""

    JSON = "json"
    CSV = "csv"


_encode = msgspec.json.Encoder().encode


def success(fields: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(fields), status, headers=headers, media_type="application/json")


def encoded(fields: dict[str, Any]) -> bytes:
    return _encode({"success": True} | fields)


def replayed(status: StrEnum) -> dict[str, str]:
    """The headers of a repeated answer. Its body is that of the first answer, so the current status is in a header."""
    return {"Idempotency-Replayed": "true", "Idempotency-Replayed-Status": status}


def pagination(total: int, *, page: int, limit: int) -> dict[str, int]:
    return {"total": total, "page": page, "limit": limit, "pages": -(-total // limit)}
