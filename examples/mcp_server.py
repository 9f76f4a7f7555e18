"""An MCP server with tools of your own, for Claude, Cursor and other clients. Needs tools-mcp."""

from typing import Annotated

from tools_core import Context, tool
from tools_mcp import Server


@tool(read_only=True)
def weather(city: Annotated[str, "Name of the city"]) -> str:
    """Look up the weather in a city."""
    return f"{city}: sunny"


@tool(read_only=True)
def compare(cities: Annotated[list[str], "Names of the cities"], context: Context) -> dict[str, str]:
    """Look up the weather in several cities, and report the progress."""
    forecasts = {}
    for done, city in enumerate(cities):
        context.progress(done, len(cities), city)
        forecasts[city] = "sunny"
    return forecasts


@tool
def subscribe(city: Annotated[str, "Name of the city"]) -> str:
    """Subscribe to the forecasts of a city."""
    return f"subscribed to {city}"


# A call that is not read-only needs approval: clients with elicitation ask their user. `allow` approves it in advance.
server = Server([weather, compare, subscribe], name="weather", allow=["subscribe"])

if __name__ == "__main__":
    server.run_stdio()  # or: server.run_http()
