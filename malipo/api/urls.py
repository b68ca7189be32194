"""URLs: which thing a request is about."""

from starlette.requests import Request

from malipo.errors import Missing


def id_in(request: Request, missing: type[Missing], name: str = "id") -> str:
    """The id in the path. What the database cannot hold need not be looked for."""
    id_: str = request.path_params[name]
    if "\0" in id_:
        raise missing
    return id_
