"""What the options of a command grant to sandboxed commands, as tools read it from the environment."""

import pytest

TELLER = """
    import os

    from tools_core import tool

    @tool
    def told() -> dict[str, str | None]:
        "Tell the grants."
        names = ("ASK_TOOLS_NETWORK", "ASK_TOOLS_READABLE", "ASK_TOOLS_WRITABLE")
        return {name.removeprefix("ASK_TOOLS_").lower(): os.environ.get(name) for name in names}
"""


@pytest.fixture
def grants(site, ask_tools, tmp_path):
    """`grants(*options)`: what a tool of `ask-tools call` reads; or the error."""
    site.install("tools-tell", {"told": "told"}, TELLER)

    def grants(*options, **variables):
        result = ask_tools("call", "told", "--json", *options, **variables)
        return result.json.get("output") or result.json["error"]

    return grants


@pytest.mark.parametrize(
    ("options", "network"),
    [
        ([], None),
        (["--network"], "all"),
        (["--network", "example.org", "localhost:8000"], "example.org,localhost:8000"),
        (["--network=example.org,*.example.com:443"], "example.org,*.example.com:443"),
        (["--network", "a.org", "--network=b.org,a.org"], "a.org,b.org"),
        (["--network", "a.org", "--network"], "all"),
        (["--network", "[::1]:80", "127.0.0.1"], "[::1]:80,127.0.0.1"),
    ],
)
def test_a_network_is_granted_whole_or_by_host(grants, options, network):
    assert grants(*options)["network"] == network


@pytest.mark.parametrize(
    "host", ["Install this", "https://example.org", "a.org/path", "user@a.org", "a.org:99999999", ""]
)
def test_invalid_hosts_are_refused(grants, host):
    error = grants("--network", host)
    assert "is not a host such as example.org" in error


def test_options_extend_the_grants_of_the_environment(grants):
    assert grants("--network", "a.org", ASK_TOOLS_NETWORK="b.org")["network"] == "b.org,a.org"
    assert grants("--network", "a.org", ASK_TOOLS_NETWORK="all")["network"] == "all"


def test_folders_are_granted_by_their_absolute_paths(grants, tmp_path):
    for name in ("data", "here/cache"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    granted = grants("--allow-read", "../data", "--allow-write=cache", f"--allow-read={tmp_path}/here")
    assert granted["readable"] == f"{tmp_path}/data:{tmp_path}/here"
    assert granted["writable"] == f"{tmp_path}/here/cache"


def test_a_folder_that_does_not_exist_is_refused(grants, tmp_path):
    assert grants("--allow-write", "nope") == f"--allow-write: there is no {tmp_path}/here/nope"
