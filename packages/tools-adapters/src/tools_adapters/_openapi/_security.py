"""`Credential`: the security schemes of a document, by name."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tools_adapters._openapi._document import CannotSendError, Document


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential in each request: in a header, the query or a cookie."""

    place: str
    name: str
    value: str


def read_credentials(document: Document, auth: Mapping[str, Any]) -> dict[str, Credential]:
    """Return credentials by the names of schemes; ValueError for an unknown name or a value of another form."""
    schemes: Mapping[str, Any] = (document.data.get("components") or {}).get("securitySchemes") or {}
    credentials = {}
    for name, value in auth.items():
        if name not in schemes:
            raise ValueError(f"the document has no security scheme {name!r}; it has {', '.join(schemes) or 'none'}")
        credentials[name] = _credential(name, document.resolve(schemes[name]), value)
    return credentials


def _credential(name: str, scheme: Mapping[str, Any], value: Any) -> Credential:
    kind, form = scheme.get("type"), str(scheme.get("scheme", "")).lower()
    if kind == "http" and form == "basic":
        if not (isinstance(value, tuple | list) and len(value) == 2):
            raise ValueError(f"auth[{name!r}] is a user and a password: ('ann', 'secret')")
        return Credential("header", "authorization", f"Basic {base64.b64encode(':'.join(value).encode()).decode()}")
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"auth[{name!r}] is a text: the token or the key")
    value = header_value(f"auth[{name!r}]", value)
    if kind == "apiKey":
        return Credential(scheme["in"], scheme["name"], value)
    if kind in ("oauth2", "openIdConnect") or (kind == "http" and form == "bearer"):
        return Credential("header", "authorization", f"Bearer {re.sub('^bearer +', '', value, flags=re.IGNORECASE)}")
    if kind == "http":
        return Credential("header", "authorization", f"{scheme.get('scheme')} {value}")
    raise ValueError(f"the security scheme {name!r} of type {kind!r} is not part of a request; configure the client")


def header_value(name: str, value: str) -> str:
    """Return a value without the line break of its file; ValueError if no header can have it.

    A client would show the value in its error, which the model reads.
    """
    text = value.strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"{name} has a line break, or a character that is not ASCII")
    return text


def credentials_for(
    document: Document, operation: Mapping[str, Any], credentials: Mapping[str, Credential]
) -> tuple[Credential, ...]:
    """Return the credentials for the first requirement that they meet; none if the operation needs none."""
    requirements = operation.get("security", document.data.get("security"))
    for requirement in requirements or ():
        if requirement and requirement.keys() <= credentials.keys():
            return tuple(credentials[name] for name in requirement)
    if requirements and credentials and {} not in requirements:
        names = " or ".join(" and ".join(requirement) for requirement in requirements)
        raise CannotSendError(f"it needs {names} in `auth`")
    return ()


def put(credentials: tuple[Credential, ...], query: list[str], headers: dict[str, Any], cookies: list[str]) -> None:
    """Add credentials to the parts of a request."""
    for credential in credentials:
        if credential.place == "query":
            query.append(f"{quote(credential.name, safe='')}={quote(credential.value, safe='')}")
        elif credential.place == "cookie":
            cookies.append(f"{credential.name}={credential.value}")
        else:
            headers[credential.name] = credential.value
