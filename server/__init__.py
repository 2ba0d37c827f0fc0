"""midtoken: completions where the cursor is. Here files, models and the command line meet."""

__version__ = "0.1.0"
