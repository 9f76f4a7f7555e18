import pytest

from tools_agent import Agent, ScriptedProvider, Skills
from tools_core import ToolCall


@pytest.fixture
def folder(tmp_path):
    skill = tmp_path / "tidy"
    skill.mkdir()
    head = "---\nname: tidy\ndescription: >\n  Tidies folders,\n  by date.\n---\n"
    (skill / "SKILL.md").write_text(f"{head}Sort by date.\n")
    (skill / "dates.md").write_text("ISO 8601")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path


def test_the_model_loads_a_skill_with_its_files(folder):
    loads = [{"name": "tidy"}, {"name": "tidy", "file": "dates.md"}, {"name": "tidy", "file": "../secret.txt"}]
    loads.append({"name": "cook"})
    provider = ScriptedProvider([ToolCall(None, "load_skill", arguments) for arguments in loads], "Done")
    agent = Agent(model=provider, skills=folder)
    agent.generate("Tidy up")
    assert "- tidy: Tidies folders, by date." in provider.calls[0].messages[0].content
    results = [(message.error_type, message.content) for message in agent.session if message.role == "tool"]
    assert results[:2] == [(None, "Sort by date."), (None, "ISO 8601")]
    assert [kind for kind, _ in results[2:]] == ["not_found", "not_found"]
    assert agent.context["skills"]["tidy"].description == "Tidies folders, by date."


def test_a_folder_without_a_complete_skill_is_rejected(folder):
    (folder / "tidy" / "SKILL.md").write_text("Sort by date.")
    with pytest.raises(ValueError, match="no name"):
        Skills([folder])
    with pytest.raises(ValueError, match="no skill here"):
        Skills([folder / "nowhere"])


def test_a_skill_from_an_editor_of_windows_is_read(folder):
    text = "\ufeff---\r\nname: tidy\r\ndescription: Tidies folders – by date.\r\n---\r\nSort by date.\r\n"
    (folder / "tidy" / "SKILL.md").write_bytes(text.encode())
    assert Skills([folder])["tidy"].instructions == "Sort by date."
    (folder / "tidy" / "SKILL.md").write_bytes(text.encode("cp1252", "ignore"))
    with pytest.raises(ValueError, match=r"SKILL\.md: it is not UTF-8"):
        Skills([folder])


def test_the_front_matter_is_yaml(folder):
    head = '---\nname: tidy  # the reader\ndescription: "Tidies: folders"\nmetadata:\n  version: 1\n---\n'
    (folder / "tidy" / "SKILL.md").write_text(f"{head}Sort by date.\n")
    assert Skills([folder])["tidy"].description == "Tidies: folders"
    (folder / "tidy" / "SKILL.md").write_text("---\nname: [\n---\n")
    with pytest.raises(ValueError, match="not YAML"):
        Skills([folder])
