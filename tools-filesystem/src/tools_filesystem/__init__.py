"""Files for a model: nothing outside the workspace is touched, and nothing is half-written."""

from tools_filesystem._ledger import Ledger
from tools_filesystem._list_directory import ListDirectory
from tools_filesystem._read_file import ReadFile
from tools_filesystem._workspace import Root, Workspace
from tools_filesystem._write_file import WriteFile

__all__ = ["Ledger", "ListDirectory", "ReadFile", "Root", "Workspace", "WriteFile"]
