"""Search providers: SearXNG, Brave and Tavily."""

from collections.abc import Mapping
from typing import Any

import httpx2
from tools_core import ToolError
from tools_core.files import config_path

from tools_web._settings import secret


class SearXNG:
    """A server of the user, which must offer the format JSON. It decides how many pages there are."""

    url = "http://127.0.0.1:8080"

    def search(self, client: httpx2.Client, options: Mapping[str, Any], query: str, limit: int) -> Any:
        return client.get("/search", params={"q": query, "format": "json"}).json()["results"][:limit]


class Brave:
    """The API of Brave Search."""

    url = "https://api.search.brave.com"

    def search(self, client: httpx2.Client, options: Mapping[str, Any], query: str, limit: int) -> Any:
        client.headers["X-Subscription-Token"] = secret(options)
        reply = client.get("/res/v1/web/search", params={"q": query, "count": limit}).json()
        return [{**hit, "content": hit.get("description")} for hit in reply.get("web", {}).get("results", [])]


class Tavily:
    """The API of Tavily."""

    url = "https://api.tavily.com"

    def search(self, client: httpx2.Client, options: Mapping[str, Any], query: str, limit: int) -> Any:
        client.headers["Authorization"] = f"Bearer {secret(options)}"
        return client.post("/search", json={"query": query, "max_results": limit}).json()["results"]


_PROVIDERS: dict[str, SearXNG | Brave | Tavily] = {"searxng": SearXNG(), "brave": Brave(), "tavily": Tavily()}


def search(options: Mapping[str, Any], query: str, limit: int) -> list[dict[str, str]]:
    """Return the title, url and text of the pages that the user's search provider finds."""
    provider = _PROVIDERS.get(str(options.get("provider", "")))
    if provider is None:
        lines = '[web.search] with provider = "brave" and env = "BRAVE_API_KEY", or "tavily", or "searxng" and url'
        raise ToolError(f"no search provider; add to {config_path('settings.toml')}: {lines}", "unavailable")
    url, hooks = options.get("url", provider.url), {"response": [httpx2.Response.raise_for_status]}
    try:
        with httpx2.Client(base_url=url, timeout=15, event_hooks=hooks) as client:
            hits = provider.search(client, options, query, limit)
        return [{"title": hit["title"], "url": hit["url"], "text": hit.get("content") or ""} for hit in hits]
    except (httpx2.HTTPError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ToolError(f"{options['provider']} did not answer as expected: {error}", "unavailable") from error
