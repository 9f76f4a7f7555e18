"""For tools whose calls run other calls, as the replies of a model, within the run of their caller."""

from tools_agent._loop._sub_agent import delegate

__all__ = ["delegate"]
