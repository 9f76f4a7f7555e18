"""`Studio`: the state that the pages of one process share."""

from __future__ import annotations

import asyncio
import shlex
from functools import cached_property, partial
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader

from tools_core.threads import in_thread
from tools_studio import _rendering as rendering
from tools_studio._calls import Calls
from tools_studio._catalog import Catalog
from tools_studio._events import Hub
from tools_studio._forms import as_json
from tools_studio._snippets import arguments_of, pretty
from tools_workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_studio._sessions import Sessions
    from tools_workspace import WorkspaceCopy

_INTERVAL = 1.0  # seconds between two reads of the sessions that other processes change


class Studio:
    """The tools, the calls and the sessions behind the pages of one process."""

    def __init__(self, patterns: Sequence[str] | None = None) -> None:
        self.root = f"/{token_urlsafe(16)}"  # begins the path of each page; see Guard
        self.hub = Hub()
        self.catalog = Catalog(patterns)
        self.workspace = Workspace()
        self.calls = Calls(self.workspace, self.hub)
        self._is_loading = False

    @cached_property
    def sessions(self) -> Sessions:
        """The sessions; loads tools-agent, which the bench does not need."""
        from tools_studio._sessions import Sessions

        return Sessions(self.hub, self.workspace)

    async def watch(self) -> None:
        """Tell open pages about sessions that other processes change, once a page has shown sessions."""
        while True:
            await asyncio.sleep(_INTERVAL)
            if self.hub.has_listeners and "sessions" in vars(self):
                await asyncio.to_thread(self.sessions.look)

    def load(self) -> None:
        """Import the tools and look for problems in the background, once."""
        if not self._is_loading:
            self._is_loading = True
            in_thread(self._load)

    def _load(self) -> None:
        try:
            _ = self.catalog.items
        finally:
            self.hub.publish("catalog")
            self.catalog.examine()
            self.hub.publish("catalog")

    def changes_of(self, copy: WorkspaceCopy) -> list[dict[str, Any]]:
        """Return the changes of a copy for a page, and remember them: only these are applied."""
        changes = copy.changes()
        copy.record_shown(changes)
        return changes.to_list()

    @cached_property
    def templates(self) -> Environment:
        """The templates; text is escaped unless it is already HTML of ours."""
        environment = Environment(
            loader=PackageLoader("tools_studio"), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters.update(
            markdown=rendering.markdown, diff=rendering.diff, seconds=rendering.seconds, clipped=rendering.clipped,
            ago=rendering.ago, setting=rendering.setting, compact=as_json, pretty=pretty,
            segment=partial(quote, safe=""), word=shlex.quote, arguments=arguments_of,
        )  # fmt: skip
        values: dict[str, Any] = {
            "studio": self,
            "parts_of": rendering.parts_of,
            "program_text": rendering.program_text,
        }
        environment.globals |= values
        return environment

    def render(self, template: str, **values: Any) -> str:
        """Return the HTML of a template."""
        return self.templates.get_template(template).render(values)
