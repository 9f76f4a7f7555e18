"""OpenAPI: a tool for each operation of an HTTP API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2

from tools_adapters._openapi._document import CannotSendError, Document
from tools_adapters._openapi._operations import Operation, Servers, read_operation
from tools_adapters._openapi._requests import Api, call
from tools_adapters._openapi._security import credentials_for, header_value, read_credentials
from tools_core import Context, DefinitionError, Tool, tool
from tools_core.formats import legal_names

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
SAFE_METHODS = ("get", "head", "options", "query")

Asks = Callable[[str, str], bool] | bool | None


class Operations(list[Tool]):
    """The tools of an API; `problems` names the excluded operations, each with the reason."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []


def from_openapi(
    document: Mapping[str, Any],
    *,
    base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    auth: Any = None,
    requires_approval: Asks = None,
    client: httpx2.Client | None = None,
) -> Operations:
    """Return a tool for each operation of an OpenAPI 3.0 or 3.1 document.

    A tool is named after its `operationId`, else its method and path. Its parameters are the parameters of the path,
    query, headers and cookies, and the properties of the body, or `body` if the body is not an object or shares a
    name. Files, in forms of several parts and as whole bodies, are paths in the workspace. Arguments are validated
    before the request, and cannot leave the path of the operation. Operations that read are `read_only`; the others
    require approval. The output of a call is JSON if the response is, else its text; a status from 300 is an error of
    the result. At most 1,000,000 bytes of a response are read.

    An operation that cannot be sent as the document says is excluded; `problems` of the result has the reason.

    Args:
        document: The document as plain data, as `json.load` and `yaml.safe_load` return it.
        base_url: The address of the API, instead of the first absolute URL of the document's `servers`; by default the
            one of the client. Paths and operations that name servers use these.
        variables: Values for the variables of the servers; by default the defaults of the document.
        headers: Headers for every request, such as credentials. The model never sees them, and cannot set them.
        auth: Credentials by the names of the document's security schemes: `{"bearerAuth": "token"}`, for HTTP Basic
            `("user", "password")`; or an authentication of httpx2 for every request.
        requires_approval: Whether calls need approval: a bool, or a function of the method and the path, such as
            `lambda method, path: method == "DELETE"`.
        client: Sends the requests, with its own limits, proxies and certificates; by default one with 30 s for a
            request that follows no redirects.

    Raises:
        ValueError: This is no OpenAPI 3 document, no operation can be sent, there is no absolute address, or `auth` or
            `variables` do not fit the document.
        TypeError: The client is asynchronous.
    """
    data: Any = document
    paths = data.get("paths") if isinstance(data, Mapping) else None
    if isinstance(data, Mapping) and "swagger" in data:
        raise ValueError("this is a Swagger 2 document: convert it to OpenAPI 3, as `swagger2openapi` does")
    if not isinstance(paths, Mapping):
        message = "the document has no `paths`: pass an OpenAPI 3 document as `json.load` or `yaml.safe_load` return it"
        raise ValueError(message)  # noqa: TRY004  (the data is wrong, not an argument's type)
    if isinstance(client, httpx2.AsyncClient):
        raise TypeError("client must be an httpx2.Client, not an AsyncClient; agents call it in a thread")
    is_by_name = isinstance(auth, Mapping)
    source, servers = Document(document), Servers(_checked(base_url or (client and client.base_url)), variables or {})
    servers.address(document.get("servers"))
    sent = {name: header_value(f"the header {name}", value) for name, value in (headers or {}).items()}
    api = Api(client or httpx2.Client(timeout=30), sent, None if is_by_name else auth)
    credentials = read_credentials(source, auth) if is_by_name else {}
    # OpenAPI reserves three, and a credential is not the model's to set.
    own = {*api.headers, *(client.headers if client else ())}
    reserved = {"accept", "authorization", "content-type", *(key.lower() for key in own)}
    result = Operations()
    for name, method, path, item in _named(source, paths, result.problems):
        try:
            operation = read_operation(
                source, method, path, item, name=name, reserved=reserved,
                address=servers.address(item[method].get("servers"), item.get("servers"), document.get("servers")),
                credentials=credentials_for(source, item[method], credentials),
            )  # fmt: skip
            result.append(_tool(api, operation, requires_approval))
        except (CannotSendError, DefinitionError, LookupError, TypeError, AttributeError, RecursionError) as error:
            is_clear = isinstance(error, CannotSendError | DefinitionError | TypeError)
            reason = error if is_clear else f"{type(error).__name__}: {error}"
            result.problems.append(f"{name} ({method.upper()} {path}): {reason}")
    if result.problems and not result:
        raise ValueError(f"no operation can be sent: {'; '.join(result.problems)}")
    return result


def _checked(base_url: Any) -> str | None:
    """Return `base_url` as text; ValueError for one that no path can follow."""
    text = str(base_url or "")
    if text and not re.fullmatch(r"https?://[^?#]+", text, re.IGNORECASE):
        raise ValueError(f"base_url is an address like https://api.example.com/v1, without a query; got {text!r}")
    return text or None


def _named(
    document: Document, paths: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield name, method, path and path item of each operation; legal names, and different ones."""
    operations: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for path, entry in paths.items():
        if path.startswith("x-"):
            continue
        try:
            item = document.resolve(entry)
        except CannotSendError as error:
            problems.append(f"{path}: {error}")
            continue
        if not path.startswith("/"):
            problems.append(f"{path}: a path begins with /")
            continue
        for method in METHODS:
            if isinstance(item, Mapping) and isinstance(item.get(method), Mapping):
                identifier = str(item[method].get("operationId") or "")
                identifier = identifier if re.search(r"[A-Za-z]", identifier) else ""  # others are not legible
                key = f"{method}{path}".replace("{", "").replace("}", "").rstrip("/").replace("/", "_")
                operations[identifier if identifier and identifier not in operations else key] = method, path, item
    gemini = legal_names(operations, "gemini")  # begin with a letter or _
    openai = legal_names(gemini.values(), "openai")
    for key, operation in operations.items():
        yield openai[gemini[key]], *operation


def _tool(api: Api, operation: Operation, requires_approval: Asks) -> Tool:
    is_safe = operation.method in SAFE_METHODS
    if callable(requires_approval):
        asks = requires_approval(operation.method.upper(), operation.path)
    else:
        asks = not is_safe if requires_approval is None else requires_approval

    def execute(tools_adapters_context: Context, **arguments: Any) -> Any:
        return call(api, operation, arguments, tools_adapters_context)

    execute.__qualname__ = operation.name
    return tool(
        execute,
        name=operation.name,
        description=operation.description,
        input_schema=operation.schema,
        read_only=is_safe,
        idempotent=is_safe or operation.method in ("put", "delete"),
        requires_approval=asks,
        stateful=True,  # the client cannot go to another process
    )
