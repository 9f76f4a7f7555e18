"""Files for a model: nothing outside the workspace is touched, and nothing is half-written."""

from tools_filesystem._apply_patch import ApplyPatch
from tools_filesystem._copy_path import CopyPath
from tools_filesystem._delete_path import DeletePath
from tools_filesystem._directory_tree import DirectoryTree
from tools_filesystem._edit_file import EditFile
from tools_filesystem._file_info import FileInfo
from tools_filesystem._glob import Glob
from tools_filesystem._grep import Grep
from tools_filesystem._ledger import Ledger
from tools_filesystem._list_directory import ListDirectory
from tools_filesystem._list_roots import ListRoots
from tools_filesystem._make_directory import MakeDirectory
from tools_filesystem._move_path import MovePath
from tools_filesystem._read_file import ReadFile
from tools_filesystem._read_files import ReadFiles
from tools_filesystem._read_media_file import ReadMediaFile
from tools_filesystem._workspace import Root, Workspace
from tools_filesystem._write_file import WriteFile

__all__ = [
    "ApplyPatch",
    "CopyPath",
    "DeletePath",
    "DirectoryTree",
    "EditFile",
    "FileInfo",
    "Glob",
    "Grep",
    "Ledger",
    "ListDirectory",
    "ListRoots",
    "MakeDirectory",
    "MovePath",
    "ReadFile",
    "ReadFiles",
    "ReadMediaFile",
    "Root",
    "Workspace",
    "WriteFile",
]
