"""Which package has a tool that is not installed: the first-party ones, by the names of their entry points."""

from __future__ import annotations

from tools_core._registry._entry_points import normalize, scan

PACKAGES = {
    "tools-filesystem": (
        "apply_patch", "copy_path", "delete_path", "directory_tree", "edit_file", "file_info", "glob", "grep",
        "list_directory", "list_roots", "make_directory", "move_path", "read_file", "read_files", "read_media_file",
        "write_file",
    ),
    "tools-shell": ("bash", "job_input", "job_list", "job_output", "job_start", "job_stop", "python", "repl"),
}  # fmt: skip


def where_to_get(name: str) -> str:
    """`grep is in tools-filesystem: pip install tools-filesystem`; nothing for what is there, or nobody's."""
    distribution, _, bare = name.rpartition(":")
    for package, tools in PACKAGES.items():
        if bare in tools and distribution in ("", package):
            is_here = any(normalize(point.distribution) == package for point in scan("ask_tools.tools"))
            return "" if is_here else f"{bare} is a tool of {package}: pip install {package}"
    return ""
