"""The options of `ask-tools new`, one by one, in what they make."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools_scaffold import Plan, ScaffoldError, new_package
from tools_scaffold._answers import LICENSES, PYTHONS

NOWHERE = Path(__file__).parent  # plans are only made, never written


OURS = {"How to use tools": "https://github.com/ask-tools/ask-tools"}  # which is no lie


def plan(**options: Any) -> Plan:
    return new_package("weather", into=NOWHERE, dry_run=True, **{"author": "Ada", "year": 1999, **options})


def project(made: Plan) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(made.files["pyproject.toml"])["project"]
    return found


@pytest.mark.parametrize("terms", [name for name in LICENSES if name[0].isupper()])
def test_a_license_is_named_and_its_text_comes_along(terms: str) -> None:
    made = plan(license=terms)
    assert project(made)["license"] == terms
    assert project(made)["license-files"] == ["LICENSE"]
    assert len(made.files["LICENSE"]) > 700
    assert f"{terms}, see [LICENSE](LICENSE)." in made.files["README.md"]
    assert "tools-example" not in made.files["LICENSE"]
    if terms in ("MIT", "ISC", "BSD-3-Clause"):
        assert "1999" in made.files["LICENSE"]
        assert "Ada" in made.files["LICENSE"]


@pytest.mark.parametrize("terms", ["proprietary", "none"])
def test_what_nobody_may_use_is_not_published_by_mistake(terms: str) -> None:
    made = plan(license=terms)
    assert "Private :: Do Not Upload" in project(made)["classifiers"]
    assert ("LICENSE" in made.files) is (terms == "proprietary")
    assert project(made).get("license") == (None if terms == "none" else "LicenseRef-Proprietary")


def test_an_author_s_address_is_kept_apart_from_the_name() -> None:
    made = plan(author="Ada Lovelace <ada@example.org>")
    assert project(made)["authors"] == [{"name": "Ada Lovelace", "email": "ada@example.org"}]
    assert "Ada Lovelace\n" in made.files["LICENSE"]


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ("[github]\nuser = ada", "https://github.com/ada/tools-weather"),
        ('[github]\nuser = "a/b"', None),
        ('[remote "origin"]\nurl = git@example.org:ada/things.git', "https://example.org/ada/things"),
        ('[remote "origin"]\nurl = https://ada:secret@example.org/ada/things', "https://example.org/ada/things"),
        ('[remote "origin"]\nurl = ssh://git@example.org:22/ada/things.git/', "https://example.org/ada/things"),
        ('[remote "origin"]\nurl = /srv/things', None),
        ('[remote "origin"]\nurl = "https://example.org/a\\"b"', None),
        ("", None),
    ],
)
def test_where_the_code_is_found_is_what_git_says_without_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, url: str | None
) -> None:
    path = tmp_path / "config"
    path.write_text(f"{config}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    made = new_package("weather", into=tmp_path, author="Ada", dry_run=True)
    assert project(made).get("urls") == ({"Homepage": url} if url else OURS)


def test_a_given_url_comes_before_what_git_says() -> None:
    assert project(plan(url="https://example.org/?a=b#c"))["urls"] == {"Homepage": "https://example.org/?a=b#c"}


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lowest_python_is_the_same_everywhere(python: str) -> None:
    made = plan(python=python)
    later = PYTHONS[PYTHONS.index(python) :]
    table = tomllib.loads(made.files["pyproject.toml"])
    assert table["project"]["requires-python"] == f">={python}"
    assert table["tool"]["mypy"]["python_version"] == python
    named = [text.rpartition(" ")[2] for text in table["project"]["classifiers"] if ":: 3." in text]
    assert named == list(later)
    matrix = ", ".join(f'"{each}"' for each in later)
    assert f"python: [{matrix}]\n" in made.files[".github/workflows/ci.yml"]


def test_without_ci_no_file_speaks_of_it() -> None:
    made = plan(ci=False)
    assert not [path for path in made.files if path.startswith((".github", "docs"))]
    assert "publish.md" not in made.files["README.md"]


def test_only_the_job_that_publishes_may_ask_for_a_token_and_each_action_is_pinned() -> None:
    made = plan()
    workflow = made.files[".github/workflows/publish.yml"]
    build, publish = workflow.split("  publish:\n")
    assert "id-token" not in build
    assert publish.count("id-token: write") == 1
    assert "environment: pypi\n" in publish
    for text in (workflow, made.files[".github/workflows/ci.yml"]):
        assert "permissions: {}\n" in text
        for line in text.splitlines():
            if "uses:" in line:
                action, _, version = line.partition(" # ")
                assert len(action.rpartition("@")[2]) == 40
                assert version.startswith("v")


def test_the_package_keeps_the_answers_it_was_made_from() -> None:
    options = {
        "style": "class",
        "params": "city:str",
        "pydantic": True,
        "license": "ISC",
        "python": "3.13",
        "ci": False,
    }
    made = plan(**options)
    kept = tomllib.loads(made.files["pyproject.toml"])["tool"]["ask-tools"]["template"]
    assert kept == {"version": 1, "name": "weather", "year": 1999, "author": "Ada", **options}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"style": "klass"}, "--style 'klass' is none of function, class, toolset"),
        ({"python": "2.7"}, "--python '2.7' is none of 3.11, 3.12, 3.13, 3.14"),
        ({"license": "GPL"}, "--license 'GPL' is none of MIT"),
        ({"url": "example.org"}, "--url 'example.org' is no address"),
        ({"url": "https://example.org/a b"}, "is no address"),
        ({"params": "city"}, "--params: expected a colon"),
    ],
)
def test_what_is_no_choice_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScaffoldError, match=problem):
        plan(**options)


@pytest.mark.parametrize(
    ("config", "author"),
    [
        ('name = "Ada"\nemail = ada@example.org', {"name": "Ada", "email": "ada@example.org"}),
        ('name = "Ada"\nemail = "no address"', {"name": "Ada"}),
        ('name = "Ada"\nemail = "a\\"b@c"', {"name": "Ada"}),
        ('name = "Ada <x>"\nemail = ada@example.org', {"name": "The tools-weather authors"}),
        ("email = ada@example.org", {"name": "The tools-weather authors"}),
    ],
)
def test_git_s_user_is_the_author_with_an_address_if_it_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, author: dict[str, str]
) -> None:
    path = tmp_path / "config"
    path.write_text(f"[user]\n{config}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    assert project(plan(author=None))["authors"] == [author]
