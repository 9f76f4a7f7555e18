"""A schema is compiled when it is first used: by several threads at once, perhaps, or by one that is interrupted."""

import threading

import pytest

from tools_core._jsonschema._validator import compile_schema


class Watched(dict):
    """A schema that says when it is about to be compiled."""

    on_compile = None

    def __contains__(self, key):
        if key == "$ref" and self.on_compile is not None:  # asked in the middle of it
            on_compile, self.on_compile = self.on_compile, None
            on_compile()
        return super().__contains__(key)


@pytest.fixture
def part():
    """A part that is too rare to be written as source."""
    return Watched(type="string", allOf=[{"minLength": 2}])


@pytest.fixture
def validator(part):
    properties = {"a": part, "b": {"type": "array", "items": {"$ref": "#"}}}
    return compile_schema({"type": "object", "properties": properties}, trusted=True)


def test_what_one_thread_is_compiling_is_of_no_use_to_another_before_it_is_whole(validator, part):
    compiling, go_on = threading.Event(), threading.Event()

    def wait():
        compiling.set()
        assert go_on.wait(60)

    part.on_compile = wait
    slow = threading.Thread(target=lambda: validator.accepts({"a": "xy"}))
    slow.start()
    assert compiling.wait(60)
    try:
        checked = validator.check({"a": "xy"})
        assert (checked.problems, checked.value) == ([], {"a": "xy"})
    finally:
        go_on.set()
        slow.join()
    assert validator.accepts({"a": "xy", "b": [{"a": "xy"}]})
    assert not validator.accepts({"a": "xy", "b": [{"a": "x"}]})


@pytest.mark.parametrize("error", [KeyboardInterrupt, RecursionError, MemoryError])
def test_a_first_use_that_is_broken_off_leaves_nothing_half_made(validator, part, error):
    def fail():
        raise error

    part.on_compile = fail
    with pytest.raises(error):
        validator.accepts({"a": "xy"})
    assert validator.check({"a": "xy"}).problems == []
    assert len(validator.check({"a": "x"}).problems) == 1
    assert validator.accepts({"a": "xy", "b": [{"a": "xy"}]})


def test_many_threads_may_use_a_schema_first():
    for _ in range(20):
        parts = {f"a{number}": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]} for number in range(20)}
        tree = {"type": "object", "properties": {"next": {"oneOf": [{"$ref": "#/$defs/tree"}, {"const": 0}]}}}
        validator = compile_schema({"type": "object", "properties": parts, "$defs": {"tree": tree}})
        value = {f"a{number}": {"next": {"next": 0}} for number in range(20)}
        begin, problems = threading.Barrier(8), []

        def use(validator=validator, value=value, begin=begin, problems=problems):
            begin.wait()
            problems.extend(validator.check(value).problems)
            problems.extend([] if validator.accepts(value) else ["not accepted"])

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
