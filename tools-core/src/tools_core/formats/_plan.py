"""How arguments in a provider's dialect become the tool's own again."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tools_core.formats._shape import Shape

# What null stands for in a member of an object.
ABSENT = "absent"  # the member is not there
VALUE = "value"  # null itself
NEVER = "never"  # nothing: the member is required, and is never null


class Plan:
    """Leaves a value as it is; the other plans change something."""

    __slots__ = ()

    def undo(self, value: Any) -> Any:
        """The tool's own form of `value`. What does not look as it should stays, for the tool to refuse."""
        return value

    def changes(self, seen: set[int]) -> bool:  # noqa: ARG002  (for plans that have parts)
        """Whether anything is ever changed; `seen` are the plans that are being asked already."""
        return False

    def undo_call(self, arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any] | str | None:
        """The same for all arguments of a call, which may be JSON text."""
        if isinstance(arguments, str):
            from tools_core._values._errors import InvalidArguments  # loaded already, by _json
            from tools_core._values._json import parse  # only text needs it

            try:
                parsed = parse(arguments, exactly=True)[1]
            except InvalidArguments:
                return arguments
            made: Mapping[str, Any] = self.undo(parsed)
            return made
        return arguments if arguments is None else self.undo(dict(arguments))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


KEEP = Plan()


class Text(Plan):
    """JSON text, where the dialect has no schema for the value."""

    __slots__ = ()

    def undo(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        import json  # loaded already, by what read the call

        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value

    def changes(self, seen: set[int]) -> bool:  # noqa: ARG002
        return True


TEXT = Text()


class Choice(Plan):
    """One of some texts, each for a value that the dialect cannot list."""

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def undo(self, value: Any) -> Any:
        return self.values.get(value, value) if isinstance(value, str) else value

    def changes(self, seen: set[int]) -> bool:  # noqa: ARG002
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and repr(other.values) == repr(self.values)  # 1, 1.0 and True are equal

    __hash__ = Plan.__hash__


class Items(Plan):
    """The same plan for each item."""

    __slots__ = ("item",)

    def __init__(self, item: Plan) -> None:
        self.item = item

    def undo(self, value: Any) -> Any:
        return [self.item.undo(item) for item in value] if isinstance(value, list) else value

    def changes(self, seen: set[int]) -> bool:
        return self.item.changes(seen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items) and other.item == self.item

    __hash__ = Plan.__hash__


class Member:
    """What becomes of one member of an object; `name` is the tool's own."""

    __slots__ = ("is_boxed", "name", "null", "plan")

    def __init__(self, name: str, plan: Plan, null: str = VALUE, *, is_boxed: bool = False) -> None:
        self.name = name
        self.plan = plan
        self.null = null
        self.is_boxed = is_boxed  # in {"value": ...}, because null is taken: it stands for an absent member

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Member)
            and (other.name, other.null, other.is_boxed) == (self.name, self.null, self.is_boxed)
            and other.plan == self.plan
        )

    __hash__ = None  # type: ignore[assignment]


class Members(Plan):
    """A plan for each member; `rest` is the member that holds all further ones as JSON text."""

    __slots__ = ("members", "rest")

    def __init__(self, members: dict[str, Member], rest: str | None = None) -> None:
        self.members = members
        self.rest = rest

    def undo(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        made: dict[str, Any] = {}
        for key, item in value.items():
            member = self.members.get(key)
            if member is None:
                if key != self.rest:
                    made[key] = item
            elif item is not None or member.null != ABSENT:
                made[member.name] = member.plan.undo(_unboxed(item) if member.is_boxed else item)
        return made if self.rest is None or self.rest not in value else _with_rest(made, self.rest, value[self.rest])

    def changes(self, seen: set[int]) -> bool:
        if id(self) in seen:
            return False
        seen.add(id(self))
        return self.rest is not None or any(
            member.null == ABSENT or member.name != key or member.plan.changes(seen)
            for key, member in self.members.items()
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Members) and other.rest == self.rest and other.members == self.members

    __hash__ = Plan.__hash__


WRAPPER = "arguments"  # what such a member is called


class Unwrap(Plan):
    """All arguments are in one member, because they are no plain object."""

    __slots__ = ("member", "plan")

    def __init__(self, member: str, plan: Plan) -> None:
        self.member = member
        self.plan = plan

    def undo(self, value: Any) -> Any:
        if not isinstance(value, dict) or value.keys() != {self.member}:
            return value
        inner = self.plan.undo(value[self.member])
        return inner if isinstance(inner, dict) else value

    def changes(self, seen: set[int]) -> bool:  # noqa: ARG002
        return True


class Either(Plan):
    """The plan of the first alternative that a value has the shape of."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: list[tuple[Shape, Plan]]) -> None:
        self.alternatives = alternatives

    def undo(self, value: Any) -> Any:
        plan = next((plan for shape, plan in self.alternatives if shape.fits(value)), KEEP)
        return plan.undo(value)

    def changes(self, seen: set[int]) -> bool:
        return any(plan.changes(seen) for _, plan in self.alternatives)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = Plan.__hash__


class Reference(Plan):
    """The plan of a definition that may still be in the making."""

    __slots__ = ("name", "plans")

    def __init__(self, name: str, plans: dict[str, Plan]) -> None:
        self.name = name
        self.plans = plans

    def undo(self, value: Any) -> Any:
        return self.plans[self.name].undo(value)

    def changes(self, seen: set[int]) -> bool:
        plan = self.plans.get(self.name)
        if plan is None:  # in the making: it may
            return True
        if id(plan) in seen:
            return False
        if not isinstance(plan, Members):  # which notes itself
            seen.add(id(plan))
        return plan.changes(seen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other.name == self.name

    __hash__ = Plan.__hash__


def combined(plans: list[Plan]) -> Plan | None:
    """One plan that does for all; None when they contradict each other."""
    first = plans[0]
    if all(plan == first for plan in plans):
        return first
    if not isinstance(first, Members):
        return None
    made = dict(first.members)
    for plan in plans[1:]:
        if not isinstance(plan, Members) or plan.rest != first.rest or plan.members.keys() != made.keys():
            return None
        for key, member in plan.members.items():
            known = made[key]
            if (known.name, known.is_boxed) != (member.name, member.is_boxed) or known.plan != member.plan:
                return None
            if known.null != member.null:
                if VALUE in (known.null, member.null):
                    return None
                made[key] = known if known.null == ABSENT else member
    return Members(made, first.rest)


def _unboxed(item: Any) -> Any:
    return item["value"] if isinstance(item, dict) and item.keys() == {"value"} else item


def _with_rest(made: dict[str, Any], name: str, item: Any) -> dict[str, Any]:
    if item is None:
        return made
    further = TEXT.undo(item)
    return (
        {**made, name: item}
        if not isinstance(further, dict)
        else made | {k: v for k, v in further.items() if k not in made}
    )
