r"""The grammar mask: which text may come next, so that the code can still become a valid program.

Text is bytes with `\n` line ends. Nothing here knows tokens, models or editors.
"""
