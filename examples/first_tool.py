"""A first tool: a typed function that validates its arguments and always returns a result."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tools_core import Limits, Registry, ToolCall, ToolError, tool

PRICES = {"pen": 2, "book": 15}


@dataclass
class Quote:
    """The price of an order."""

    item: str
    total: int
    currency: str


@tool(read_only=True)
def quote(
    item: Annotated[str, "Name of the item"],
    count: Annotated[int, "Number of items", Limits(ge=1, le=100)] = 1,
    currency: Annotated[Literal["EUR", "NOK"], "Currency of the total"] = "EUR",
) -> Quote:
    """Calculate the price of an order."""
    if item not in PRICES:
        raise ToolError(f"no item {item!r}; available: {', '.join(PRICES)}", "not_found")
    return Quote(item, PRICES[item] * count, currency)


if __name__ == "__main__":
    print(quote("pen"))  # still your function

    registry = Registry()
    registry.register(quote)
    print([definition["name"] for definition in registry.definitions()])  # for the model

    for arguments in ('{"item": "pen", "count": 3}', '{"item": "pan"}', '{"count": 0}'):
        result = registry.call(ToolCall("call_1", "quote", arguments))  # as the model sends it
        print(result.error_type or "ok", "|", result)

# Output:
# Quote(item='pen', total=2, currency='EUR')
# ['quote']
# ok | {"item":"pen","total":6,"currency":"EUR"}
# not_found | no item 'pan'; available: pen, book
# validation_error | item is required: a string; count must be at least 1, got 0
