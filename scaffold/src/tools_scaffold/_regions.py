"""What is written in place of a region of the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_scaffold._answers import LICENSES
from tools_scaffold._code import enclosed, fields, sent, signature, valued

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_scaffold._answers import Answers
    from tools_scaffold._params import Parameter

UNTOLD = "Answer with the arguments, until this body does what the tool is for."


def write_region(name: str, original: str, indent: str, answers: Answers, version: int) -> str:
    """Return what stands in place of the region `name`, of which `original` is the template's own text."""
    if name == "ci":
        return original if answers.ci else ""
    if name == "license":
        return _license(answers.license)
    if name == "urls":
        return f"[project.urls]\n{_link(answers.url)}\n"
    if name == "record":
        return _record(answers, version)
    if name == "parameters":
        return signature(answers.parameters, indent, pydantic=answers.pydantic)
    return original if answers.params is None else _of_parameters(name, original, indent, answers)


def needed(parameters: Iterable[Parameter]) -> list[Parameter]:
    """Those without which there is no call; for a page, the first of them all if there are none."""
    found = list(parameters)
    return [each for each in found if each.is_required] or found[:1]


def toml_text(text: str) -> str:
    """Write text for between the quotes of a TOML string."""
    return text.replace("\\", r"\\").replace('"', r"\"")


def _of_parameters(name: str, original: str, indent: str, answers: Answers) -> str:
    parameters = answers.parameters
    if name == "answer":
        return fields(parameters, indent)
    if name == "description":
        return _description(answers.description or UNTOLD, indent)
    if name == "work":
        head = f"{indent}{'found = ' if 'found = ' in original else 'return '}Answer("
        return enclosed(head, [f"{each.name}={each.name}" for each in parameters], ")") + "\n"
    if name == "arguments":
        items = [f'"{key}": {value}' for key, value in sent(parameters).items()]
        return enclosed("ARGUMENTS: dict[str, Any] = {", items, "}") + "\nANSWER = ARGUMENTS\n"
    if name in ("direct", "call"):
        samples = (valued if name == "direct" else sent)(parameters if "unit" in original else needed(parameters))
        head = original[: original.index('city="')]
        return enclosed(head, [f"{key}={value}" for key, value in samples.items()], ")") + "\n"
    return ""  # `sample`: what only the template's own tool needs


def _description(words: str, indent: str) -> str:
    text = words.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    if text.startswith('"'):
        text = "\\" + text
    return f'{indent}"""{text}\n\n{indent}It changes nothing.\n{indent}"""\n'


def _license(chosen: str) -> str:
    if LICENSES[chosen] is None:
        return ""
    name = chosen if chosen[0].isupper() else f"LicenseRef-{chosen.capitalize()}"
    return f'license = "{name}"\nlicense-files = ["LICENSE"]\n'


def _link(url: str | None) -> str:
    """Where the code is found; without an address of the author's, where its users learn how to use it."""
    if url:
        return f'Homepage = "{toml_text(url)}"'
    return '"How to use tools" = "https://github.com/ask-tools/ask-tools"  # in its place: Homepage = "https://..."'


def _record(answers: Answers, version: int) -> str:
    lines = [f"version = {version}"]
    for key, value in answers.record().items():
        text = f'"{toml_text(value)}"' if isinstance(value, str) else str(value).lower()
        lines.append(f"{key} = {text}")
    return "\n".join(lines) + "\n"
