"""The contract of a tool: `CONTRACT` has each promise by its name."""

from tools_testing._contract import _boundary, _calls, _definition, _imports
from tools_testing._contract._promise import ContractReport, NotApplicable, Outcome, Promise
from tools_testing._contract._subject import Subject

__all__ = ["CONTRACT", "ContractReport", "NotApplicable", "Outcome", "Promise", "Subject"]

CONTRACT: dict[str, Promise] = {
    promise.name: promise
    for module in (_definition, _imports, _boundary, _calls)
    for promise in vars(module).values()
    if isinstance(promise, Promise)
}
