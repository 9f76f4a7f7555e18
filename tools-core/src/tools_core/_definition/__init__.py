"""From a function or a class to the definition of a tool."""
