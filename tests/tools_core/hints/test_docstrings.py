"""Docstrings: the description for the model, and the texts of the parameters."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools_core import tool


def parse_docstring(docstring):
    """Return the description of a tool, and the texts of its parameters by name."""

    def function(query="", limit="", offset="", names="", rest="", a="", b="", city="", days=""): ...

    function.__doc__ = docstring
    read = tool(function)
    texts = {name: parameter.description for name, parameter in read.parameters.items()}
    return read.description, {name: text for name, text in texts.items() if text}


GOOGLE = """Find things.

    Looks everywhere: even here.

    Args:
        query (str): What to find,
            over two lines.
        limit (dict[str, int], optional): Number of items: at most.
        *names: The names.
        **rest: Anything
          else.

    Returns:
        The things.

    Raises:
        ValueError: Never.

    Note:
        Stays.
    """

NUMPY = """Find things.

    Looks everywhere.

    Parameters
    ----------
    query : str
        What to find,
        over two lines.

        And a paragraph.
    limit, offset : int, optional
        A number.
    *names
        The names.

    Returns
    -------
    list
        The things.

    Notes
    -----
    Stays.
    """

SPHINX = """Find things.

    Looks everywhere.

    :param query: What to find,
        over two lines.
    :type query: str
    :param int limit: Number of items.
    :returns: The things.
    :rtype: list
    :raises ValueError: Never.

    Stays.
    """


def test_google_style():
    description, parameters = parse_docstring(GOOGLE)
    assert description == "Find things.\n\nLooks everywhere: even here.\n\nNote:\n    Stays."
    assert parameters == {
        "query": "What to find, over two lines.",
        "limit": "Number of items: at most.",
        "names": "The names.",
        "rest": "Anything else.",
    }


def test_numpy_style():
    description, parameters = parse_docstring(NUMPY)
    assert description == "Find things.\n\nLooks everywhere.\n\nNotes\n-----\nStays."
    assert parameters == {
        "query": "What to find, over two lines. And a paragraph.",
        "limit": "A number.",
        "offset": "A number.",
        "names": "The names.",
    }


def test_sphinx_style():
    description, parameters = parse_docstring(SPHINX)
    assert description == "Find things.\n\nLooks everywhere.\n\nStays."
    assert parameters == {"query": "What to find, over two lines.", "limit": "Number of items."}


@pytest.mark.parametrize(
    ("docstring", "description", "parameters"),
    [
        (None, "", {}),
        ("  \n  ", "", {}),
        ("Find things.", "Find things.", {}),
        ("\n    Find things.\n\n    Now.\n    ", "Find things.\n\nNow.", {}),
        ("First.\n\nArguments:\n\ta: The a.\n", "First.", {"a": "The a."}),
        ("First.\n\nKeyword Args:\n    a: The a.\n", "First.", {"a": "The a."}),
        ("First.\n:param a:\n    The a.\n", "First.", {"a": "The a."}),
        ("First.\n\nOther Parameters\n----------------\na\n    The a.", "First.", {"a": "The a."}),
    ],
)
def test_variants(docstring, description, parameters):
    assert parse_docstring(docstring) == (description, parameters)


@pytest.mark.parametrize(
    "entry",
    [
        "- query: What",
        "* query: What",
        "1. query: What",
        "- `query`: What",
        "- **query** (str, optional): What",
        "**query**: What",
        "query - What",
        "query -- What",
        "- query \u2014 What",
    ],
)
def test_entries_that_models_write_describe_their_parameters(entry):
    docstring = f"Find.\n\nArgs:\n    {entry}\n        to find."
    assert parse_docstring(docstring) == ("Find.", {"query": "What to find."})


@pytest.mark.parametrize(
    ("docstring", "description", "parameters"),
    [
        ("First.\n\nArgs:\n", "First.\n\nArgs:", {}),
        ("First.\n\nArgs:\na: not indented", "First.\n\nArgs:\na: not indented", {}),
        ("First.\n\nArgs:\n    no colon here\n    a: The a.", "First.\n\nno colon here", {"a": "The a."}),
        ("First.\n\nArgs:\n    a (unclosed: The a.\n    b: The b.", "First.\n\na (unclosed: The a.", {"b": "The b."}),
        ("First.\n\nArgs:\n    qury: The query.", "First.\n\nqury: The query.", {}),
        (
            "First.\n\nArgs:\n    Only ASCII.\n      Really.\n    a: The a.",
            "First.\n\nOnly ASCII.\nReally.",
            {"a": "The a."},
        ),
        ("First.\n\n:param: The query.", "First.\n\n:param: The query.", {}),
        ("First.\n\nParameters\n---\nfree text\n    more", "First.\n\nfree text\n    more", {}),
        ("First.\n\nReturns: the sum.", "First.\n\nReturns: the sum.", {}),
        ("First.\n\n:param a The a.", "First.\n\n:param a The a.", {}),
        ("First.\n\n:ref:`x` stays.", "First.\n\n:ref:`x` stays.", {}),
    ],
)
def test_malformed_sections_stay_in_the_description(docstring, description, parameters):
    assert parse_docstring(docstring) == (description, parameters)


WORDS = ["Args:", "Returns:", "Parameters", "----------", "a: b", "a (int): b", ":param a: b", ":", "    ", "*", "("]


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(WORDS)).map("".join),
        st.lists(st.sampled_from(WORDS)).map("\n".join),
    )
)
@example("Args:\n    " + "(" * 1000)
@example(":param " + ":" * 1000)
def test_no_text_raises(text):
    description, parameters = parse_docstring(text)
    assert isinstance(description, str)
    assert all(name.isidentifier() or name[0].isalnum() for name in parameters)
    assert all(parameters.values())


def test_a_section_may_start_on_the_first_line():
    google = "Args:\n        query: What to find.\n        limit: Number of items.\n    "
    assert parse_docstring(google) == ("", {"query": "What to find.", "limit": "Number of items."})
    assert parse_docstring(f"{google}\n    Returns:\n        Things.\n    ")[1]["query"] == "What to find."
