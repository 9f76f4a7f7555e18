"""The `example` tool."""

from typing import Annotated, Literal, TypedDict

from tools_core import ToolError, tool

# region sample
# Made-up numbers, so that the tool works offline from its first minute: replace them with a real lookup.
CELSIUS = {"lima": 18.5, "nairobi": 20.0, "oslo": 7.5}


# endregion
class Answer(TypedDict):
    """What the tool answers."""

    # region answer
    city: str
    temperature: float
    unit: Literal["celsius", "fahrenheit"]
    # endregion


@tool(read_only=True)
def example(
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
    return Answer(city=city.strip().title(), temperature=temperature, unit=unit)
    # endregion
