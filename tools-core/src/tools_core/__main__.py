"""`python -P -m tools_core` is the `ask-tools` command, for where its script is not on the PATH.

Without -P, Python itself imports some modules of the current folder before this file runs.
"""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))  # the current folder, whose modules must not shadow installed ones

from tools_core._cli import main

if __name__ == "__main__":
    sys.exit(main())
