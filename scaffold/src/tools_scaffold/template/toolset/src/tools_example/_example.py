"""The `example` tools: one object with a memory, three tools."""

from collections import deque
from typing import Annotated, Literal, TypedDict

from tools_core import Halt, ToolError, Toolset, tool

# region sample
# Made-up numbers, so that the tool works offline from its first minute: replace them with a real lookup.
CELSIUS = {"lima": 18.5, "nairobi": 20.0, "oslo": 7.5}


# endregion
class Answer(TypedDict):
    """What a look-up answers."""

    # region answer
    city: str
    temperature: float
    unit: Literal["celsius", "fahrenheit"]
    # endregion


class ExampleTools(Toolset):
    """Each public method is a tool; what `__init__` sets up is theirs together."""

    name = "example"

    def __init__(self) -> None:
        self._answers: deque[Answer] = deque(maxlen=100)

    @tool(read_only=True)
    def lookup(
        self,
        # region parameters
        city: Annotated[str, "Name of the city, such as Oslo"],
        unit: Annotated[Literal["celsius", "fahrenheit"], "Unit of the temperature"] = "celsius",
        # endregion
    ) -> Answer:
        # region description
        """Look up the sample temperature of a city.

        The numbers are made up. Knows Lima, Nairobi and Oslo; any other city is refused as not found.
        """
        # endregion
        # region work
        celsius = CELSIUS.get(city.strip().casefold())
        if celsius is None:
            known = ", ".join(name.title() for name in CELSIUS)
            raise ToolError(f"no temperature for {city!r}; known cities: {known}", type="not_found")
        temperature = celsius if unit == "celsius" else celsius * 9 / 5 + 32
        found = Answer(city=city.strip().title(), temperature=temperature, unit=unit)
        # endregion
        self._answers.append(found)
        return found

    @tool(read_only=True)
    def history(self) -> list[Answer]:
        """List the last hundred answers, oldest first."""
        return list(self._answers)

    def finish(self, summary: Annotated[str, "What was found, for the person who asked"]) -> str:
        """End the conversation with a summary.

        The model is not asked again after it: a Halt is a decision, and no error.
        """
        raise Halt(summary)
