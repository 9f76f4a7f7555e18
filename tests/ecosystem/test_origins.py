"""The pages for users of Riffer, ask-rb, rigging and RobotLab have every word of the documents of these systems."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
WORDS = {
    "from-riffer.md": """
        Riffer::Tool description identifier name params required optional enum default String Integer Float
        Riffer::Boolean of: Array Hash properties= context: text json error type: :not_found Riffer::Tools::Response
        content success? error? error_message error_type timeout :timeout_error :validation_error :execution_error
        :unknown_tool parameters_schema uses_tools Riffer::ToolExecutionError strict_bugs tool_runtime Inline Threaded
        max_concurrency Riffer.configure set_default_runtime dispatch_tool_call around_tool_call yield
        Riffer::Agent model instructions MyAgent.new session: generate stream files media_type find all on_message
        interrupt! interrupt_reason riffer_interrupt Interrupted Riffer::Agent::Session messages instruction_message
        skills_message experimental_history_healing Agent.heal healed_tool_call_ids update tool_call_id remove
        orphaned_tool_call_ids token_usage :skills structured_output blocked? tripwire modified? modifications
        interrupted? TextDelta TextDone ToolCallDelta ToolCallDone ReasoningDelta Interrupt reason INTERRUPT_MAX_STEPS
        max_steps count reverse_each Riffer::Messages::System User Assistant Tool persisted_messages Parameter
        ToolResult Sentiment HttpToolRuntime InstrumentedRuntime CreateOrderTool UserOrdersTool WeatherTool kb_search
    """,
    "from-ask-rb.md": """
        Ask::Tool description desc param type: required: Parameter name call execute parameters params_schema
        tool_definition input_schema Ask::Tool::Halt Tool.Halt :halted halted StandardError Ask::Result.ok
        Ask::Result.error metadata ok? output error to_s to_h inspect Ask::Tool::Parameter Ask::Tools register all
        discover discover_subclasses clear count Greeter SearchTool gem bundle rescue :string :integer :number :boolean
        :array :object
    """,
    "from-rigging.md": """
        Tool name description Annotated execute get_description ToolCall ToolResult ToolDescription ToolFunction
        ToolParameter SUPPORTED_TOOL_ARGUMENT_TYPES SUPPORTED_TOOL_ARGUMENT_TYPES_LIST TypeError StrictToolset Hammer
        hit using run chat Hammer_hit Toolset
    """,
    "from-robotlab.md": """
        ToolCallMessage ToolMessage ToolResultMessage role tools stop_reason id name input type content to_h to_json
        to_dict tool_call? text? assistant? tool_stop? is_tool_call is_text is_assistant is_tool_stop data error
        success? is_success from_message to_message to_call get_weather get_time
    """,
}


@pytest.mark.parametrize("page", WORDS)
def test_a_page_for_another_system_has_every_word_of_its_documents(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [word for word in WORDS[page].split() if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)] == []
