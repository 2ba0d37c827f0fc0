r"""What other files of the workspace say, for a prompt: definitions, recent places, an outline.

Only files inside the workspace are read, none that `.gitignore`, `.midtokenignore` or the list of
secrets excludes. Nothing here knows tokens, models or editors; texts have `\n` line ends.
"""
