"""Cases: expectations, and errors in files."""

import pytest

from tools_core import ToolCall
from tools_eval import Case, CaseError, ExpectedCall, load_cases


@pytest.fixture
def schemas(tools):
    return {tool.name: tool.input_schema for tool in tools}


def judge(expect, arguments, schemas, name="weather"):
    case = Case(question="?", expect=ExpectedCall(tool="weather", arguments=expect))
    return case.judge([ToolCall("1", name, arguments)], schemas)


@pytest.mark.parametrize(
    ("condition", "accepted", "rejected"),
    [
        ("Oslo", "Oslo", "oslo"),
        ({"pattern": "(?i)^oslo"}, "OSLO, Norway", "Paris"),
        ({"schema": {"enum": ["Oslo", "Bergen"]}}, "Bergen", "Paris"),
        (str.isupper, "OSLO", "Oslo"),
        ({"equals": "Oslo", "check": "string:capwords"}, "Oslo", "Bergen"),
    ],
)
def test_an_argument_must_meet_its_condition(condition, accepted, rejected, schemas):
    assert judge({"city": condition}, {"city": accepted}, schemas) == []
    [problem] = judge({"city": condition}, {"city": rejected}, schemas)
    assert "weather: city" in problem and repr(rejected)[1:-1] in problem


def test_numbers_can_have_bounds_and_defaults_count_as_arguments(schemas):
    expect = {"days": {"minimum": 1, "maximum": 3}, "units": "C"}
    assert judge(expect, {"city": "Oslo", "days": 3}, schemas) == []
    assert judge(expect, {"city": "Oslo"}, schemas) == []
    assert judge(expect, {"city": "Oslo", "days": 4}, schemas) == ["weather: days must be at most 3, got 4"]


def test_a_call_that_the_schema_rejects_fails_the_case(schemas):
    [problem] = judge({}, {"city": "Oslo", "units": "K"}, schemas)
    assert problem.startswith("weather: units must be")


def calls(*names):
    return [
        ToolCall(str(index), name, {"city": "x"} if name == "weather" else {"topic": "x"})
        for index, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("case", "passing", "failing"),
    [
        ({"no_call": True}, [], ["news"]),
        ({"expect": [{"tool": "news"}, {"tool": "weather"}]}, ["weather", "news"], ["news", "news"]),
        (
            {"expect": [{"tool": "news"}, {"tool": "weather"}], "ordered": True},
            ["news", "weather"],
            ["weather", "news"],
        ),
        ({"expect": [{"tool": "news"}, {"tool": "news"}]}, ["news", "news"], ["news"]),
        ({"any_of": [{"tool": "news"}, {"tool": "weather"}]}, ["weather"], []),
        ({"forbid": ["ne*"]}, ["weather"], ["weather", "news"]),
        ({"expect": {"tool": "news"}, "forbid": ["*"]}, ["news"], ["news", "weather"]),
    ],
    ids=["no call", "unordered", "ordered", "twice", "any of", "forbidden", "forbidden others"],
)
def test_a_case_judges_all_calls_of_a_reply(case, passing, failing, schemas):
    case = Case(question="?", **case)
    assert case.judge(calls(*passing), schemas) == []
    assert case.judge(calls(*failing), schemas)


BAD = [  # the second case of a file, the line of the mistake, and the message
    ('question = "?"', 5, "has expect, any_of, forbid, no_call, max_calls or answer"),
    ("no_call = true", 5, "has a question, or messages"),
    ('question = "?"\nno_call = 1.5', 7, "no_call"),
    ('question = "?"\nexpect = { tol = "weather" }', 7, "expect.0.tool"),
    ('question = "?"\n\n[[case.expect]]\ntool = "x"\narguments.days = { minimun = 1 }', 10, "days.minimun"),
    ('question = "?"\nexpect = { tool = "x", arguments = { a = {} } }', 7, "{ equals = {} }"),
    ('question = "?"\nexpect = { tool = "x", arguments = { a = { check = "no:name" } } }', 7, "FILE.py:NAME"),
]


@pytest.mark.parametrize(("text", "line", "message"), BAD, ids=[message for _, _, message in BAD])
def test_an_invalid_case_is_reported_with_its_line(text, line, message, tmp_path):
    path = tmp_path / "bad.toml"
    first = '[[case]]\nquestion = "fine"\nno_call = true\n\n'
    path.write_text(f"{first}[[case]]\n{text}\n")
    with pytest.raises(CaseError) as caught:
        load_cases(path)
    assert str(caught.value).startswith(f"{path}:{line}: ") and message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case = ?", "line 1"),
        ("tool = 1\ncase = []", ":1: tool"),
        ('[[case]]\nquestion = "?"\nno_call = true\n' * 2, "two cases"),
    ],
    ids=["syntax", "unknown key", "same name"],
)
def test_an_invalid_file_is_reported(text, message, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(CaseError, match=message):
        load_cases(path)


def test_python_files_can_contain_cases(tmp_path):
    (tmp_path / "a.toml").write_text('tools = ["x"]\n[[case]]\nquestion = "one"\nno_call = true\n')
    (tmp_path / "b_cases.py").write_text(
        "from tools_eval import Case\ncases = [Case(question='two', no_call=True, tools=['y'])]\n"
    )
    assert [(case.name, case.tools) for case in load_cases(tmp_path)] == [("one", ["x"]), ("two", ["y"])]


def test_cases_of_two_files_with_one_name_get_the_paths_of_their_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text('[[case]]\nname = "thanks"\nquestion = "?"\nno_call = true\n')
    assert [case.name for case in load_cases(tmp_path)] == [f"{tmp_path}/{name}.toml: thanks" for name in ("a", "b")]


@pytest.mark.parametrize(("text", "message"), [("x = 1", "has no list `cases`"), ("1 / 0", "ZeroDivisionError")])
def test_a_python_file_without_cases_is_reported(text, message, tmp_path):
    (tmp_path / "x.py").write_text(text)
    with pytest.raises(CaseError, match=message):
        load_cases(tmp_path / "x.py")


def test_a_check_can_be_a_function_of_a_file_beside_the_cases(tmp_path, schemas):
    (tmp_path / "checks.py").write_text("def is_even(number):\n    return number % 2 == 0\n")
    (tmp_path / "cases.toml").write_text(
        '[[case]]\nquestion = "?"\nexpect = { tool = "weather", arguments.days.check = "checks.py:is_even" }\n'
    )
    [case] = load_cases(tmp_path / "cases.toml")
    assert case.judge([ToolCall("1", "weather", {"city": "Oslo", "days": 2})], schemas) == []
    assert "is_even()" in case.judge([ToolCall("1", "weather", {"city": "Oslo", "days": 3})], schemas)[0]
