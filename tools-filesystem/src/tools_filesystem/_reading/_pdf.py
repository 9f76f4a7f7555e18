"""The text of some pages of a PDF, by pypdf in a process that is killed at its limit.

It runs as `python -I _pdf.py DESCRIPTOR FIRST LAST`, because a damaged file can take any time and memory.
"""

from __future__ import annotations

import sys
from importlib import import_module


def main(descriptor: int, first: int, last: int) -> None:
    """Print the text of the pages from `first` to `last`."""
    try:
        pypdf = import_module("pypdf")  # optional
    except ImportError:
        sys.exit("pages needs pypdf: pip install pypdf, or omit pages to get the whole file")
    try:
        with open(descriptor, "rb") as file:
            reader = pypdf.PdfReader(file)
            count = len(reader.pages)
            if first > count:
                sys.exit(f"the PDF has {count} pages")
            for number in range(first, min(last, count) + 1):
                text = reader.pages[number - 1].extract_text()
                sys.stdout.write(f"--- page {number} of {count} ---\n{text.rstrip() or '[no text]'}\n")
                sys.stdout.flush()
    except (pypdf.errors.PyPdfError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        sys.exit(f"the PDF cannot be read: {error}")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # this process has a real standard output
    main(*map(int, sys.argv[1:]))
