"""The contract of a tool, as many small checks: `CONTRACT` has each by its name."""

from tools_testing._contract import _arguments, _behaviour, _definition, _imports
from tools_testing._contract._check import Check, ContractReport, NotApplicable, Outcome
from tools_testing._contract._subject import Subject

__all__ = ["CONTRACT", "Check", "ContractReport", "NotApplicable", "Outcome", "Subject"]

# What is shown comes first, then what is refused, then what comes back: the order in which one would mend it.
CONTRACT: dict[str, Check] = {
    check.name: check
    for part in (_definition, _imports, _arguments, _behaviour)
    for check in vars(part).values()
    if isinstance(check, Check)
}
