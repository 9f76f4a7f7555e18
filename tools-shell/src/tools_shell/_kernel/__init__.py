"""The program inside the tools `python` and `repl`.

Its modules are sent to an interpreter of any version from 3.8 on, whatever that has installed. What they import at the
top, besides each other, every interpreter has loaded when it starts; the rest is loaded when it is first needed.
"""
