"""midtoken: completions where the cursor is. This package wires files, models and editors together."""

__version__ = "0.1.0"
