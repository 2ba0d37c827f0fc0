"""Regular expressions with possessive quantifiers (`*+`, `++`), on every Python.

Grammars read text with them, since they look at each byte once. Python has them from 3.11 on, but
until 3.11.4 what a possessive group had matched could be wrong after it had gone back inside
(CPython issue 106052; Debian 12 has 3.11.2): a text was split at the wrong places, or for ever.
There the `regex` package, which understands the same patterns, does the work.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 11, 5):
    import re
else:
    import regex as re

__all__ = ["re"]
