"""Files for a model: nothing outside the workspace is touched, and nothing is half-written."""

from tools_filesystem._tools._apply_patch import ApplyPatch
from tools_filesystem._tools._delete_path import DeletePath
from tools_filesystem._tools._edit_file import EditFile
from tools_filesystem._tools._file_info import FileInfo
from tools_filesystem._tools._glob import Glob
from tools_filesystem._tools._grep import Grep
from tools_filesystem._tools._list_directory import ListDirectory
from tools_filesystem._tools._make_directory import MakeDirectory
from tools_filesystem._tools._move_path import MovePath
from tools_filesystem._tools._read_file import ReadFile
from tools_filesystem._tools._write_file import WriteFile
from tools_filesystem._workspace import Root, Workspace

__all__ = [
    "ApplyPatch",
    "DeletePath",
    "EditFile",
    "FileInfo",
    "Glob",
    "Grep",
    "ListDirectory",
    "MakeDirectory",
    "MovePath",
    "ReadFile",
    "Root",
    "Workspace",
    "WriteFile",
]
