"""Plan mode of `ask-tools chat`: nothing changes before a person accepts the plan."""

import pytest

pytest.importorskip("tools_filesystem")

WRITE = ("write_file", {"path": "notes.txt", "content": "new"})


@pytest.mark.slow
def test_a_plan_is_refused_then_accepted_and_carried_out(open_chat, model, place):
    model.replies = [[WRITE], ["I will write notes.txt."], ["I will write it in English."], [WRITE], ["Written."]]
    chat = open_chat("--plan", "--yes", "--mode", "ask", model="openai:gpt-5")
    chat.wait_for("mode ask, plan first")
    chat.type("Write notes\r")
    chat.wait_for("I will write notes.txt.", "accept the plan?")
    assert "plan mode: only read until the user accepts the plan" in model.texts(role="tool")[0]
    assert not (place / "notes.txt").exists()
    chat.type("n in English, please\r")
    chat.wait_for("> in English, please", "I will write it in English.", "mode ask, plan first")
    chat.wait_until(lambda: chat.text.count("Enter  continue to plan") == 2)
    chat.type("y\r")
    chat.wait_for("> I accept the plan.", "Written.", without="plan first")
    assert (place / "notes.txt").read_text() == "new"
    prompts = [content if isinstance(content, str) else content[0]["text"] for content in model.texts()]
    assert prompts == ["Write notes", "in English, please", "I accept the plan. Carry it out."]
    assert "The user wants a plan first." in str(model.texts()[1])


@pytest.mark.slow
def test_a_plan_is_edited_and_planning_ends_on_request(open_chat, model, place):
    model.replies = [["Delete all."], ["Done."]]
    chat = open_chat("--mode", "ask", model="openai:gpt-5")
    chat.wait_for("mode ask")
    chat.type("/plan\r")
    chat.wait_for("plan first", "only read, and end with a plan")
    chat.type("/plan\r")
    chat.wait_for("the next turns work in mode ask", without="plan first")
    chat.type("/plan Tidy\r")
    chat.wait_for("accept the plan?")
    chat.type("e\r")
    chat.wait_for("plan: Delete all.")
    chat.type("\x15Delete nothing.\r")
    chat.wait_for("Done.")
    assert model.texts()[-1] == "Carry out the plan as I have edited it:\n\nDelete nothing."
