"""The body of a reply as the text that a model reads best.

HTML and PDFs are read by `python _page.py`, in limits: a hostile one can take any time and memory, or crash a parser.
"""

import codecs
import io
import json
import re
import subprocess
import sys
from contextlib import suppress
from typing import Any, Literal

from tools_core import ToolError

Form = Literal["markdown", "text", "html", "raw"]
_MAX_TEXT = 10_000_000  # characters
_CHARSET = re.compile(rb"""<meta[^>]+charset=["']?([\w-]+)""", re.IGNORECASE)
_TEXTUAL = re.compile(r"$|text/|.*[/+](json|xml|javascript|x-yaml|yaml|toml|csv)$")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def text_of(body: bytes, headers: dict[str, str], charset: str | None, url: str, form: Form, selector: str) -> str:
    """Return the text of a body. Raises ToolError for one that has none."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_pdf, is_html = body.startswith(b"%PDF-"), "html" in kind or (not kind and b"<html" in body[:1000].lower())
    if not is_pdf and not _TEXTUAL.match(kind):
        raise ToolError(f"{kind}, {len(body):,} bytes: use web_download", "unsupported")
    declared = _CHARSET.search(body[:4096]) if is_html else None
    text = "" if is_pdf else decoded(body, charset or (declared[1].decode() if declared else ""))
    if not is_pdf and (not is_html or form == "raw" or (form == "html" and not selector)):
        return text
    stdin = json.dumps([url, form, selector]).encode() + b"\n" + (text.encode("utf-8", "replace") or body)
    try:
        command = [sys.executable, "-P", __file__]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=20, check=True)
    except subprocess.SubprocessError as error:
        raise ToolError("it needs too much time or memory to read; try format='raw'", "limit_exceeded") from error
    read, problem = json.loads(done.stdout)
    if problem:
        raise ToolError(*problem)
    return str(read)


def decoded(body: bytes, charset: str | None) -> str:
    """Return a body as text; UTF-8 if the server names no charset, or an unknown one."""
    charset = next((name for mark, name in _MARKS.items() if body.startswith(mark)), charset or "utf-8")
    with suppress(LookupError, UnicodeError):
        if "code" not in charset.lower():  # punycode and unicode_escape, which no page has
            return body.decode(charset, "replace")
    return body.decode("utf-8", "replace")


def _html(page: str, url: str, form: Form, selector: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    if selector:
        parts = LexborHTMLParser(page).css(selector)
        if not parts:
            raise ToolError(f"the page has no element that matches {selector!r}", "not_found")
        page = "\n".join(part.html or "" for part in parts)
    if form == "html":
        return page
    tree = LexborHTMLParser(page)
    tree.strip_tags(["script", "style", "noscript", "template", "svg"])
    lines = tree.body.text(separator="\n").splitlines() if tree.body is not None else []
    plain = "\n".join(line.strip() for line in lines if line.strip())
    if form == "text":
        return plain
    from trafilatura import extract  # 0.4 s

    page = f"<html><body><article>{page}</article></body></html>" if selector else page
    return extract(page, url=url, output_format="markdown", include_links=True, favor_recall=True) or plain


def _pdf(body: bytes) -> str:
    from pypdf import PdfReader

    return "\n\n".join(page.extract_text() for page in PdfReader(io.BytesIO(body)).pages)


def _main(options: list[Any], body: bytes) -> None:
    """Print the text and None, or an empty text and the problem."""
    with suppress(ImportError):  # Windows
        from resource import RLIMIT_AS, RLIMIT_CPU, setrlimit

        setrlimit(RLIMIT_AS, (2 << 30, 2 << 30))
        setrlimit(RLIMIT_CPU, (20, 20))  # for a parent that has died
    try:
        text = _pdf(body) if body.startswith(b"%PDF-") else _html(body.decode(), *options)
        print(json.dumps([text[:_MAX_TEXT], None]))
    except Exception as error:  # noqa: BLE001  (of any kind, for a damaged PDF)
        print(json.dumps(["", [str(error) or type(error).__name__, getattr(error, "type", "execution_error")]]))


if __name__ == "__main__":
    _main(json.loads(sys.stdin.buffer.readline()), sys.stdin.buffer.read())
