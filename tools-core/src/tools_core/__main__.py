"""`python -m tools_core` is the `ask-tools` command, for where its script is not on the PATH."""

from __future__ import annotations

import sys

from tools_core._cli import main

if __name__ == "__main__":
    sys.exit(main())
