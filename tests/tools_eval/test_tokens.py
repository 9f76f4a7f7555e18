"""The estimate of tokens, compared with counts that providers have published."""

import pytest

from tools_core import formats
from tools_eval import estimate_tokens

LOCATION = {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}
UNIT = {"type": "string", "description": "The unit of temperature to return", "enum": ["celsius", "fahrenheit"]}


def definition(name, **properties):
    schema = {"type": "object", "properties": properties, "required": ["location"]}
    return {"name": name, "description": "Get the current weather in a given location", "input_schema": schema}


@pytest.mark.parametrize(
    ("wire", "tool", "recorded", "rest"),
    [
        # OpenAI's cookbook, "How to count tokens with tiktoken", section 7: gpt-4o counts 101 tokens for the request.
        # By the formula of the page, 32 of them are messages (17, 12 and 3) and 12 the end of the list of tools.
        (formats.openai, definition("get_current_weather", location=LOCATION, unit=UNIT), 101, 32 + 12),
        # Anthropic's page "Token counting": 403 tokens. By the page "Tool use" of that time, 346 of them are the system
        # prompt for tools; by its example without tools, about 17 are the message.
        (formats.anthropic, definition("get_weather", location=LOCATION), 403, 346 + 17),
    ],
    ids=["openai", "anthropic"],
)
def test_the_estimate_is_near_the_count_of_the_provider(wire, tool, recorded, rest):
    assert estimate_tokens([tool], wire) == pytest.approx(recorded - rest, rel=0.1)


def test_long_descriptions_and_more_parameters_cost_more():
    short, long = definition("get", location=LOCATION), definition("get", location=LOCATION, unit=UNIT)
    wordy = {**short, "description": short["description"] * 10}
    assert estimate_tokens([short]) < estimate_tokens([long]) < estimate_tokens([wordy])
