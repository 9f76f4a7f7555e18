"""A schema is compiled when it is first used, perhaps by several threads at once."""

import threading

from tools_core.schema import compile as compile_schema


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
