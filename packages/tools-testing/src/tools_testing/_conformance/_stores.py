"""What everything that keeps conversations must do."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, Protocol

import pytest

Message = dict[str, Any]

_ROUNDS, _STEPS = 20, 40  # of the comparison with the simplest store there is
_STRANGE_IDS = ["a", "A", "a/b", "../a", "a b", "日本", "🙂", "a\n", "%", "a.json", "CON", "x" * 200, "'; --", "0", "-"]
_MESSAGE: Message = {
    "role": "assistant",
    "content": 'ÜЖ日🙂 "\\\n\t\x00',
    "tool_calls": [{"id": "call_1", "name": "add", "arguments": {"a": 1, "b": [1.5, None, True, {}]}}],
}


class SessionStore(Protocol):
    """The methods that the kit tries."""

    def save(self, id: str, messages: list[Message]) -> None: ...
    def load(self, id: str) -> list[Message]: ...
    def append(self, id: str, message: Message) -> None: ...
    def delete(self, id: str) -> None: ...
    def list(self) -> list[str]: ...


class SessionStoreConformance(ABC):
    """Tests of a session store, which keeps lists of messages (dicts of plain JSON) by an id, any text but none.

    `save(id, messages)` makes these all that the session has, a new one or an old one. `load(id)` gives them, in order,
    as the caller's own; a session that is not there is a KeyError. `append(id, message)` adds one at the end, of a new
    session as of an old one; appends of several threads are all kept. `delete(id)` forgets the session; one that is not
    there is a KeyError. `list()` gives the ids, sorted. An empty session is there: it is listed, and loads as [].

    ```python
    class TestMemoryStore(SessionStoreConformance):
        def store(self):
            return MemoryStore()
    ```

    A store whose content outlives it overrides `reopened` as well.
    """

    @abstractmethod
    def store(self) -> SessionStore:
        """A new store without sessions."""

    def reopened(self, store: SessionStore) -> SessionStore:
        """Another store with the same content, as a later process would open it."""
        return store

    def test_a_new_store_has_no_sessions(self) -> None:
        assert self.store().list() == []

    def test_what_was_saved_is_loaded(self) -> None:
        store = self.store()
        store.save("a", [_MESSAGE, {"role": "user", "content": ""}])
        assert self.reopened(store).load("a") == [_MESSAGE, {"role": "user", "content": ""}]

    def test_saving_again_replaces_everything(self) -> None:
        store = self.store()
        store.save("a", [_message(1), _message(2)])
        store.save("a", [_message(3)])
        assert self.reopened(store).load("a") == [_message(3)]

    def test_an_empty_session_is_there(self) -> None:
        store = self.store()
        store.save("a", [])
        again = self.reopened(store)
        assert (again.list(), again.load("a")) == (["a"], [])

    def test_a_session_that_is_not_there_is_a_key_error(self) -> None:
        store = self.store()
        store.save("b", [])
        with pytest.raises(KeyError):
            store.load("a")
        with pytest.raises(KeyError):
            store.delete("a")

    def test_messages_are_added_at_the_end(self) -> None:
        store = self.store()
        store.save("a", [_message(0)])
        for number in range(1, 4):
            store.append("a", _message(number))
        assert self.reopened(store).load("a") == [_message(number) for number in range(4)]

    def test_a_first_message_makes_the_session(self) -> None:
        store = self.store()
        store.append("a", _message(1))
        again = self.reopened(store)
        assert (again.list(), again.load("a")) == (["a"], [_message(1)])

    def test_a_deleted_session_is_gone_and_can_begin_anew(self) -> None:
        store = self.store()
        store.save("a", [_message(1)])
        store.save("b", [_message(2)])
        store.delete("a")
        assert self.reopened(store).list() == ["b"]
        with pytest.raises(KeyError):
            store.load("a")
        store.append("a", _message(3))
        assert store.load("a") == [_message(3)]

    def test_sessions_are_listed_sorted(self) -> None:
        store = self.store()
        for id in ("b", "c", "a"):
            store.save(id, [])
        assert self.reopened(store).list() == ["a", "b", "c"]

    def test_any_text_is_an_id_of_its_own(self) -> None:
        store = self.store()
        for id in _STRANGE_IDS:
            store.save(id, [{"role": "user", "content": id}])
        again = self.reopened(store)
        assert again.list() == sorted(_STRANGE_IDS)
        assert [again.load(id)[0]["content"] for id in _STRANGE_IDS] == _STRANGE_IDS

    def test_what_is_loaded_is_the_callers_own(self) -> None:
        store = self.store()
        store.save("a", [copy.deepcopy(_MESSAGE)])
        loaded = store.load("a")
        loaded[0]["tool_calls"].clear()
        loaded.clear()
        assert store.load("a") == [_MESSAGE]

    def test_what_was_given_is_not_held(self) -> None:
        store = self.store()
        saved, added = [copy.deepcopy(_MESSAGE)], copy.deepcopy(_MESSAGE)
        store.save("a", saved)
        store.append("a", added)
        saved[0]["tool_calls"].clear()
        saved.clear()
        added.clear()
        assert store.load("a") == [_MESSAGE, _MESSAGE]

    def test_appends_of_several_threads_are_all_kept(self) -> None:
        store = self.store()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: store.append("a", _message(number)), range(100)))
        numbers = [message["number"] for message in self.reopened(store).load("a")]
        assert sorted(numbers) == list(range(100))

    def test_a_long_session_is_kept_whole(self) -> None:
        store = self.store()
        messages = [_message(number) for number in range(2_000)]
        store.save("a", messages)
        store.append("a", _message(2_000))
        assert self.reopened(store).load("a") == [*messages, _message(2_000)]

    def test_any_sequence_of_operations_does_what_a_dict_would(self) -> None:
        for seed in range(_ROUNDS):
            _compare(self.store(), Random(seed), f"sequence {seed}")  # noqa: S311  (samples need no secrecy)


def _message(number: int) -> Message:
    return {"role": "user", "content": f"message {number}", "number": number}


def _compare(store: SessionStore, random: Random, name: str) -> None:
    """Do the same to a store and to a dict of lists, and compare after each step."""
    model: dict[str, list[Message]] = {}
    done: list[str] = []
    for step in range(_STEPS):
        id = random.choice("abc")
        message = _message(step)
        operation = random.choice(("save", "append", "append", "delete", "load"))
        done.append(f"{operation} {id}")
        if operation == "save":
            store.save(id, [message])
            model[id] = [message]
        elif operation == "append":
            store.append(id, message)
            model.setdefault(id, []).append(message)
        elif id not in model:
            with pytest.raises(KeyError):
                (store.delete if operation == "delete" else store.load)(id)
        elif operation == "delete":
            store.delete(id)
            del model[id]
        assert store.list() == sorted(model), f"{name}: after {done}"
        assert {each: store.load(each) for each in model} == model, f"{name}: after {done}"
