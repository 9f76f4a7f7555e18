"""The host imports nothing that a tool has written, also when its script lies in the workspace."""

from __future__ import annotations

import subprocess
import sys

AGENT = """
import pathlib, sys
from tools_core import Context
import tools_filesystem as files
tools = {kind.__name__: kind(".") for name in files.__all__
         if isinstance(kind := getattr(files, name), type) and hasattr(kind, "execute")}
shadow = "import pathlib; pathlib.Path('imported').open('a').write(__name__ + ' ')"
for name in sorted(sys.stdlib_module_names - {"__main__"}):
    pathlib.Path(name + ".py").write_text(shadow)  # as another process of the model might
(pathlib.Path("image.png")).write_bytes(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(9))
(pathlib.Path("wide")).write_bytes("caf\\u00e9\\n".encode("utf-16"))
(pathlib.Path("latin")).write_bytes("caf\\u00e9\\n".encode("cp1252"))
pathlib.Path("folder").mkdir()
pathlib.Path("text").write_text("one\\ntwo\\n")
calls = [
    ("ReadFile", {"path": "text"}), ("ReadFile", {"path": "image.png"}), ("ReadFile", {"path": "wide"}),
    ("ReadFile", {"path": "latin"}), ("ReadFile", {"path": "caf\\u00e9"}), ("ReadFile", {"path": "TEXT"}),
    ("FileInfo", {"path": "text"}), ("FileInfo", {"path": "image.png"}), ("FileInfo", {"path": "folder"}),
    ("ListDirectory", {"depth": 3}), ("ListDirectory", {"path": "missing"}),
    ("Glob", {"pattern": "**/*.{png,txt}"}), ("Glob", {"pattern": "te[a-z]t", "sort": "newest"}),
    ("Grep", {"pattern": "one"}), ("Grep", {"pattern": "("}), ("Grep", {"pattern": "t", "output_mode": "count"}),
    ("EditFile", {"path": "text", "old_string": "two", "new_string": "2"}),
    ("EditFile", {"path": "text", "old_string": "thre", "new_string": "3"}),
    ("EditFile", {"path": "latin", "old_string": "caf", "new_string": "Caf"}),
    ("ApplyPatch", {"patch": "*** Begin Patch\\n*** Update File: text\\n-one\\n+1\\n*** End Patch"}),
    ("ApplyPatch", {"patch": "nothing"}), ("WriteFile", {"path": "text", "content": "x"}),
    ("MakeDirectory", {"path": "a/b"}),
    ("MovePath", {"source": "a", "destination": "d"}),
    ("DeletePath", {"path": "d", "recursive": True}), ("DeletePath", {"path": ".git"}), ("WriteFile", {"path": "x"}),
]
for name, arguments in calls:
    tools[name].effects(arguments)
    tools[name].call(arguments)
    tools[name].call(arguments, Context(timeout=20))
tools["Grep"].diagnose()
"""


def test_no_module_that_a_tool_wrote_is_imported_by_the_host(root):
    (root / "agent.py").write_text(AGENT)
    subprocess.run([sys.executable, "agent.py"], cwd=root, check=True)
    marker = root / "imported"
    assert not marker.exists(), marker.read_text()
