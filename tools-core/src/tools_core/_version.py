"""The version, as a constant, so that asking for it costs no look into the package's metadata."""

__version__ = "0.1.0"
