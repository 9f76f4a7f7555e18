"""Names for kinds of files, as searches know them."""

from __future__ import annotations

from tools_core import ToolError

_TYPES: dict[str, tuple[str, ...]] = {
    "c": ("*.c", "*.h"),
    "cpp": ("*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp", "*.hxx"),
    "cs": ("*.cs",),
    "css": ("*.css", "*.scss", "*.sass", "*.less"),
    "docker": ("*Dockerfile", "*.dockerfile", "Dockerfile.*"),
    "go": ("*.go",),
    "html": ("*.htm", "*.html"),
    "java": ("*.java",),
    "js": ("*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"),
    "json": ("*.json", "*.jsonl", "*.ndjson"),
    "kotlin": ("*.kt", "*.kts"),
    "lua": ("*.lua",),
    "make": ("*Makefile", "*makefile", "*.mk"),
    "markdown": ("*.md", "*.markdown", "*.mdx"),
    "php": ("*.php",),
    "proto": ("*.proto",),
    "py": ("*.py", "*.pyi"),
    "rb": ("*.rb", "*Gemfile", "*Rakefile", "*.gemspec"),
    "rst": ("*.rst",),
    "rust": ("*.rs",),
    "scala": ("*.scala", "*.sbt"),
    "sh": ("*.sh", "*.bash", "*.zsh"),
    "sql": ("*.sql",),
    "swift": ("*.swift",),
    "tex": ("*.tex", "*.bib", "*.sty"),
    "toml": ("*.toml",),
    "ts": ("*.ts", "*.tsx", "*.mts", "*.cts"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.xsl"),
    "yaml": ("*.yaml", "*.yml"),
}
_OTHER_NAMES = {
    "c++": "cpp", "csharp": "cs", "javascript": "js", "md": "markdown", "python": "py", "rs": "rust", "ruby": "rb",
    "shell": "sh", "bash": "sh", "text": "txt", "typescript": "ts", "yml": "yaml", "dockerfile": "docker",
}  # fmt: skip


def patterns_of(type: str) -> tuple[str, ...]:
    """The names that files of a type have; ToolError with the known types for another."""
    known = _TYPES.get(_OTHER_NAMES.get(type, type))
    if known is None:
        message = f"no file type {type!r}; known are {', '.join(_TYPES)}: or use glob, such as '*.{type}'"
        raise ToolError(message, "validation_error")
    return known
