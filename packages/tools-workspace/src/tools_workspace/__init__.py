"""Copies of a workspace, in which tools and agents run: look at the changes, then apply, discard or undo them.

```python
from tools_workspace import Workspace

workspace = Workspace(".")
with workspace.copy() as copy:
    ...  # run tools with the workspace `copy.path`
    print(copy.changes().summary())
    copy.apply()
workspace.undo()
```
"""

from tools_workspace._apply import ConflictError
from tools_workspace._change import Change
from tools_workspace._changes import Changes
from tools_workspace._checkpoint import Checkpoint
from tools_workspace._entries import Entry
from tools_workspace._history import Changeset
from tools_workspace._tree import WorkspaceError
from tools_workspace._undo import ask_about_conflicts, undo_last, undone_lines
from tools_workspace._workspace import Workspace, WorkspaceCopy, WorkspaceTooLargeError

__all__ = [
    "Change",
    "Changes",
    "Changeset",
    "Checkpoint",
    "ConflictError",
    "Entry",
    "Workspace",
    "WorkspaceCopy",
    "WorkspaceError",
    "WorkspaceTooLargeError",
    "ask_about_conflicts",
    "undo_last",
    "undone_lines",
]
