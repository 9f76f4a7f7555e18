"""The loop of an agent: requests to the model, tool calls, and the events of both."""
