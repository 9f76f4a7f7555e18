"""`ask-tools skill`: the skill for coding agents."""

from __future__ import annotations

import os
import re

FOLDERS = (".claude/skills", ".agents/skills")


def test_install_links_the_skill_for_coding_agents_and_can_be_repeated(ask_tools, tmp_path):
    for _ in range(2):
        installed = ask_tools("skill", "install")
        assert (installed.code, installed.out.count("linked ")) == (0, 2)
    for folder in FOLDERS:
        link = tmp_path / "here" / folder / "ask-tools"
        assert link.is_symlink()
        assert (link / "SKILL.md").read_text(encoding="utf-8") == ask_tools("skill", "show").out


def test_a_copy_replaces_a_link_and_is_a_regular_folder(ask_tools, tmp_path):
    ask_tools("skill", "install")
    assert ask_tools("skill", "install", "--copy").out.count("copied ") == 2
    copy = tmp_path / "here/.claude/skills/ask-tools"
    assert (copy.is_symlink(), os.listdir(copy)) == (False, ["SKILL.md"])


def test_another_skill_of_this_name_is_not_replaced(ask_tools, tmp_path):
    other = tmp_path / "here/.agents/skills/ask-tools"
    other.mkdir(parents=True)
    (other / "SKILL.md").write_text("mine")
    refused = ask_tools("skill", "install")
    assert (refused.code, "exists and is not this skill" in refused.err) == (2, True)
    assert (other / "SKILL.md").read_text() == "mine"
    assert not (tmp_path / "here/.claude").exists()


def test_the_program_in_the_skill_runs(ask_tools):
    text = ask_tools("skill", "show").out
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    exec(compile(program, "SKILL.md", "exec"), {"__name__": "skill"})
