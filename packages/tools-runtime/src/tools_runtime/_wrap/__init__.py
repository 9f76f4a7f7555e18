"""Plugins around calls, compiled to one kind of layer, and the decision whether a call is made."""
