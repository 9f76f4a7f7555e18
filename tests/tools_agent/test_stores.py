import sqlite3
import subprocess
import sys
from contextlib import closing
from threading import Thread, active_count

import pytest

from tools_agent import (
    Agent,
    Record,
    ScriptedProvider,
    Session,
    SessionConflictError,
    SQLiteStore,
    StoreError,
    User,
    open_store,
)
from tools_core import ToolCall, tool


@pytest.fixture(params=["memory", "file", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """The path or URL of an empty store."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").new_database()
    return ":memory:" if request.param == "memory" else str(tmp_path / "sessions.sqlite3")


@pytest.fixture
def store(place):
    with open_store(place) as store:
        yield store


def note(text="", run="r1"):
    return Record("note", {"text": text}, run)


def texts(store, session="s"):
    return [record.data["text"] for record in store.read(session)]


# ------------------------------------------------------------------------------------------------ logs


def test_records_are_read_in_order_with_number_run_and_time(store):
    store.create("s")
    assert store.append("s", [note("a"), note("b")], after=0) == 2
    assert store.append("s", [Record("end", {}, at=7.0)], after=2) == 3
    first, second, last = store.read("s")
    assert (first.seq, first.data, first.run, second.seq) == (1, {"text": "a"}, "r1", 2)
    assert 0 < first.at == second.at
    assert (last.kind, last.run, last.at) == ("end", "", 7.0)
    assert store.read("s", after=2) == [last]


def test_a_record_stores_any_json_even_text_that_databases_reject(store):
    data = {"\0\ud800": ["\x7f\u2028é🙂", 2**70, 1e-320, None, {"": []}], "long": "x" * 1_000_000}
    store.create("s", {"title": "\0\ud800"})
    store.append("s", [Record("note", data)], after=0)
    assert store.read("s")[0].data == data
    assert store.sessions()[0].metadata == {"title": "\0\ud800"}


def test_a_conflicting_append_changes_no_record(store):
    store.create("s")
    store.append("s", [note("a")], after=0)
    for after in (0, 2):
        with pytest.raises(SessionConflictError, match=rf"has 1 records, not {after}: another process has changed it"):
            store.append("s", [note("b"), note("c")], after=after)
    assert texts(store) == ["a"]


def test_appending_invalid_json_changes_no_record(store):
    store.create("s")
    with pytest.raises(TypeError):
        store.append("s", [note("a"), note(object())], after=0)
    assert texts(store) == []


def test_errors_name_unknown_and_existing_sessions(store):
    for call in (
        lambda: store.read("x"),
        lambda: store.append("x", [note()], after=0),
        lambda: store.acquire("x", "r"),
        lambda: store.fork("x", "y"),
        lambda: store.delete("x"),
    ):
        with pytest.raises(KeyError, match="no session 'x'"):
            call()
    store.create("s")
    for call in (lambda: store.create("s"), lambda: store.fork("s", "s")):
        with pytest.raises(SessionConflictError, match="session 's' already"):
            call()


def test_a_fork_copies_records_up_to_a_number_and_is_independent(store):
    store.create("s", {"title": "one"})
    store.append("s", [note("a"), note("b")], after=0)
    store.fork("s", "all")
    store.fork("s", "half", until=1)
    store.append("half", [note("c")], after=1)
    assert (texts(store), texts(store, "all"), texts(store, "half")) == (["a", "b"], ["a", "b"], ["a", "c"])
    assert store.sessions()[-1].metadata == {"title": "one"}


def test_sessions_are_listed_latest_first_and_deleted_with_their_records(store):
    store.create("old")
    store.create("new")
    store.append("old", [note("a"), note("b")], after=0)
    assert [(info.id, info.length) for info in store.sessions()] == [("old", 2), ("new", 0)]
    assert all(info.created_at <= info.updated_at for info in store.sessions())
    store.delete("old")
    assert [info.id for info in store.sessions()] == ["new"]
    store.create("old")
    assert store.read("old") == []


def test_deleting_a_session_deletes_the_sessions_of_its_sub_agents(store):
    for id, parent in (("a%", ""), ("b", "a%"), ("c", "b"), ("a", ""), ("a%/c1", "")):
        store.create(id, parent=parent, call="1/k")
    assert store.child("a%", "1/k") == "b"
    store.fork("a%", "copy")
    assert store.child(store.child("copy", "1/k"), "1/k") not in (None, "c")
    store.delete("copy")
    store.delete("a%")
    assert {info.id for info in store.sessions()} == {"a", "a%/c1"}
    assert store.sessions("a%") == store.sessions("b") == []
    assert store.child("a%", "1/k") is None


# ------------------------------------------------------------------------------------------------ identity


def test_sessions_of_one_name_in_two_stores_have_different_keys(store):
    with SQLiteStore(":memory:") as other:
        assert Session(id="chat", store=store).key != Session(id="chat", store=other).key


def test_a_reopened_session_keeps_its_key_and_a_fork_has_another(store):
    session = Session([User(content="Hi")], id="chat", store=store)
    assert Session.open(store, "chat").key == session.key != session.fork("copy").key


def test_a_session_created_again_under_its_name_is_another_one(store):
    old = Session(id="chat", store=store)
    store.delete("chat")
    new = Session(id="chat", store=store)
    assert new.key != old.key
    with pytest.raises(SessionConflictError, match="deleted and created again: open it again"):
        Agent(old, model=ScriptedProvider("Hello")).generate("Hi")
    assert Agent(new, model=ScriptedProvider("Hello")).generate("Hi").content == "Hello"


# ------------------------------------------------------------------------------------------------ leases


def test_only_the_run_with_the_lease_can_write(store):
    store.create("s")
    store.acquire("s", "r1")
    store.acquire("s", "r1")
    store.append("s", [note("a")], after=0, owner="r1")
    for call in (
        lambda: store.acquire("s", "r2"),
        lambda: store.append("s", [note("b")], after=1, owner="r2"),
        lambda: store.append("s", [note("b")], after=1),
        lambda: store.delete("s"),
    ):
        with pytest.raises(SessionConflictError, match="'s' is in use by another run"):
            call()
    store.release("s", "r2")
    with pytest.raises(SessionConflictError):
        store.acquire("s", "r2")
    store.release("s", "r1")
    store.acquire("s", "r2")
    assert texts(store) == ["a"]


def test_a_run_that_could_not_release_its_lease_does_not_block_the_next(tmp_path):
    path = tmp_path / "s"
    with SQLiteStore(path) as store:
        store.create("s")
        store.acquire("s", "r1")
        change(path, "ALTER TABLE ask_sessions RENAME TO gone")
        with pytest.raises(StoreError):
            store.release("s", "r1")
        change(path, "ALTER TABLE gone RENAME TO ask_sessions")
        store.acquire("s", "r2")


def test_an_unrenewed_lease_of_this_process_expires(tmp_path):
    path = tmp_path / "s"
    with SQLiteStore(path) as store, SQLiteStore(path) as other:
        store.create("s")
        store.acquire("s", "r1")
        with pytest.raises(SessionConflictError, match="in use"):
            other.acquire("s", "r2")
        change(path, "UPDATE ask_sessions SET lease_until = 9")
        other.acquire("s", "r2")


def test_one_thread_renews_all_leases_of_a_store(tmp_path):
    with SQLiteStore(tmp_path / "s", lease=0.05) as store:
        before = active_count()
        for number in range(20):
            store.create(f"s{number}")
            store.acquire(f"s{number}", "r1")
        assert active_count() <= before + 1
        read = "SELECT lease_until FROM ask_sessions"
        first = dict(enumerate(change(tmp_path / "s", read)))
        while any(first[number] == until for number, until in enumerate(change(tmp_path / "s", read))):
            pass


RUNNER = """
import sys
from tools_agent import open_store
store = open_store(sys.argv[1])
store.acquire("s", "r1")
print("acquired", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("place", ["file", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_killing_a_process_frees_its_session_immediately(place, store):
    store.create("s")
    with subprocess.Popen([sys.executable, "-c", RUNNER, place], stdin=-1, stdout=-1) as process:
        process.stdout.readline()
        with pytest.raises(SessionConflictError, match="in use"):
            store.acquire("s", "r2")
        process.kill()
    store.acquire("s", "r2")


def test_a_lease_of_another_machine_expires(tmp_path):
    with SQLiteStore(tmp_path / "s") as store:
        store.create("s")
        elsewhere = "UPDATE ask_sessions SET lease_owner = 'r1', lease_process = 'machine 1 1', lease_until = {}"
        change(tmp_path / "s", elsewhere.format("9e9"))
        with pytest.raises(SessionConflictError, match="in use"):
            store.acquire("s", "r2")
        change(tmp_path / "s", elsewhere.format("9"))
        store.acquire("s", "r2")
        with pytest.raises(SessionConflictError, match="in use"):
            store.append("s", [note()], after=0, owner="r1")


def change(path, statement):
    connection = sqlite3.connect(path, timeout=30)
    with connection:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


# ------------------------------------------------------------------------------------------------ many at once

WRITER = """
import sys
from tools_agent import Record, open_store
with open_store(sys.argv[1]) as store:
    store.create(sys.argv[2])
    for number in range(50):
        store.append(sys.argv[2], [Record("note", {"text": number})], after=number)
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["file", "postgresql"], indirect=True)
def test_processes_can_create_one_store_concurrently(place):
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, place, f"s{number}"]) for number in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    with open_store(place) as store:
        assert [texts(store, f"s{number}") for number in range(4)] == [list(range(50))] * 4


def test_concurrent_appends_lose_no_record(store):
    store.create("s")
    conflicts = []

    def write(name):
        for _ in range(20):
            try:
                store.append("s", [note(name)], after=len(store.read("s")))
            except SessionConflictError:
                conflicts.append(name)

    threads = [Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.read("s")) == 40 - len(conflicts)


# ------------------------------------------------------------------------------------------------ failures

FULL = """
import resource, sys
from tools_agent import Record, StoreError, open_store
store = open_store(sys.argv[1])
store.create("s")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, -1))
done = 0
try:
    while True:
        done = store.append("s", [Record("note", {"text": "x" * 5000})] * 2, after=done)
except StoreError as error:
    print(error)
assert len(store.read("s")) == done > 2, done
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
store.append("s", [Record("note", {})], after=done)
print(done + 1)
"""


def test_a_full_disk_raises_store_error_and_keeps_the_log_complete(tmp_path):
    path = tmp_path / "sessions.sqlite3"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    message, count = done.stdout.splitlines()
    assert str(path) in message
    with open_store(path) as store:
        assert len(store.read("s")) == int(count)


def test_a_failing_store_is_logged_in_one_line_beside_the_exception(tmp_path, caplog):
    @tool
    def break_store() -> str:
        """Break the store."""
        store.close()
        return "x"

    store = SQLiteStore(tmp_path / "s")
    agent = Agent("chat", store=store, model=ScriptedProvider(ToolCall("c", "break_store", {})), tools=[break_store])
    with pytest.raises(StoreError):
        agent.generate("Go")
    assert [record.exc_info for record in caplog.records] == [None] * len(caplog.records) != []


@pytest.mark.slow
def test_a_stopped_server_raises_store_error_until_it_restarts(postgresql):
    with open_store(postgresql.new_database()) as store:
        store.create("s")
        store.append("s", [note("a")], after=0)
        postgresql.stop()
        try:
            for call in (lambda: store.append("s", [note("b")], after=1), lambda: store.read("s")):
                with pytest.raises(StoreError, match="postgresql"):
                    call()
        finally:
            postgresql.start()
        store.append("s", [note("c")], after=1)
        assert texts(store) == ["a", "c"]


def test_opening_an_invalid_database_raises_store_error(tmp_path):
    (tmp_path / "text").write_text("This is not a database, but a text. " * 100)
    for path in (tmp_path / "text", tmp_path, tmp_path / "text" / "below"):
        with pytest.raises(StoreError, match=str(path)):
            open_store(path)


def test_a_database_of_a_newer_version_is_rejected_unchanged(tmp_path):
    path = tmp_path / "s"
    open_store(path).close()
    change(path, "UPDATE ask_schema SET version = 99")
    with pytest.raises(StoreError, match=r"newer version of tools-agent \(schema 99\): upgrade it"):
        open_store(path)
    assert change(path, "SELECT version FROM ask_schema") == [(99,)]


@pytest.mark.parametrize(
    "damage",
    [
        "data = 'x'", "data = '{}'", "data = '[1]'", "data = '1,2'", "data = x'ff'", "data = '{\"message\": {}}'",
        "data = '{\"message\": {\"id\": \"m\", \"role\": \"user\", \"content\": 5}}'",
        "kind = 'tool_finished'", "kind = 'remove'", "kind = 'rollback'",
    ],
)  # fmt: skip
def test_the_error_for_a_damaged_record_names_it_and_the_remedy(tmp_path, damage):
    with SQLiteStore(tmp_path / "s") as store:
        session = Session([User(content="one")], id="chat", store=store)
        Agent(session, model=ScriptedProvider("Hello")).generate("two")
        change(tmp_path / "s", f"UPDATE ask_records SET {damage} WHERE seq = 3")  # noqa: S608
        with pytest.raises(StoreError, match=r"session 'chat': record 3 is damaged .* fork\('chat', NEW, until=2\)"):
            Agent("chat", store=store, model=ScriptedProvider("Hello")).generate()
        store.fork("chat", "new", until=2)
        assert [message.content for message in Session.open(store, "new")] == ["one"]


def test_the_error_for_damaged_metadata_names_the_session(tmp_path):
    with SQLiteStore(tmp_path / "s") as store:
        store.create("chat")
        change(tmp_path / "s", "UPDATE ask_sessions SET metadata = 'x'")
        with pytest.raises(StoreError, match="session 'chat': its metadata are damaged"):
            store.sessions()


def test_using_a_closed_store_raises_store_error(tmp_path):
    store = open_store(tmp_path / "s")
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.sessions()


# ------------------------------------------------------------------------------------------------ places


def test_no_other_user_can_read_the_file(tmp_path):
    path = tmp_path / "folder" / "sessions.sqlite3"
    with open_store(path) as store:
        store.create("s")
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
    assert set(modes.values()) == {"0o600"}
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o666, 0o660])
def test_a_database_that_other_users_can_write_is_rejected(tmp_path, mode):
    path = tmp_path / "s"
    open_store(path).close()
    path.chmod(mode)
    with pytest.raises(StoreError, match=f"{path}: other users can write to it; fix: chmod go-w {path}"):
        open_store(path)
    path.chmod(0o644)
    open_store(path).close()


def test_the_default_store_is_in_the_data_folder_or_ask_tools_sessions(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("ASK_TOOLS_SESSIONS", raising=False)
    open_store().close()
    assert (tmp_path / "data/ask-tools/sessions.sqlite3").exists()
    monkeypatch.setenv("ASK_TOOLS_SESSIONS", f"sqlite:///{tmp_path}/other")
    open_store().close()
    assert (tmp_path / "other").exists()


def test_the_error_for_an_unsupported_url_lists_the_supported_ones():
    with pytest.raises(ValueError, match=r"mysql:// is not a store: give a path, sqlite:///PATH or postgresql://"):
        open_store("mysql://host/db")


def test_a_file_of_another_version_is_refused_with_a_way_out(tmp_path):
    path = tmp_path / "sessions"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE ask_schema (version INTEGER NOT NULL)")
        connection.execute("INSERT INTO ask_schema VALUES (1)")
    path.chmod(0o600)
    with pytest.raises(StoreError, match=r"older version of tools-agent \(schema 1\): choose another place"):
        SQLiteStore(path)


def test_the_path_of_a_store_is_resolved_when_it_is_opened(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with open_store("~/chats.db"), open_store("chats.db") as store:
        monkeypatch.chdir("elsewhere")
        assert store.path == str(tmp_path / "chats.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chats.db", "elsewhere", "home"]
    assert (tmp_path / "home/chats.db").is_file()
