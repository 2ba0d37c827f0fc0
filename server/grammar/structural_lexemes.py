r"""What matters in a language's text to find its open brackets: the patterns of `bracket_window`.

They read a text as the grammars in `lark` do, with two differences. They know where a raw string
or a here-document with a name of its own ends, which no lexeme of a grammar can tell. And text
that ends unfinished stops at its line's end where strings may not go on: what is broken above
matters no more.

A place that is read in different ways (by dialects, or by whoever defines a macro) is an opener
that nothing closes. Its text comes first in the window, and the grammar accepts everything behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from server.possessive import re

_STRING = rb"\"(?:[^\"\\\n]++|\\[\s\S])*+[\"\\]?"
_CHAR = rb"'(?:[^'\\\n]++|\\[\s\S])*+['\\]?"
_LINE = rb"//[^\n]*"
_COMMENT = rb"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
_BRACKETS = rb"(?P<open>[(\[{])|(?P<close>[)\]}])"


@dataclass(frozen=True)
class Lexemes:
    """The arguments of `bracket_window` for a language."""

    code: re.Pattern[bytes]
    texts: Mapping[bytes, re.Pattern[bytes]] = field(default_factory=dict)


def _of(skip: bytes, others: bytes = _BRACKETS) -> re.Pattern[bytes]:
    return re.compile(rb"(?P<skip>" + skip + rb")|" + others)


_NESTED_COMMENT = re.compile(rb"(?P<open>/\*)|(?P<close>\*/)")


# C and its relatives. A branch behind `#el...` and one behind `#if 0` is text: its brackets do not
# count, and while the cursor is in there everything is accepted. All other branches count.

_C_LINE = rb"//(?:[^\n\\]++|\\\n|\\)*+"
_C_COMMENTS = _C_LINE + rb"|" + _COMMENT
_DIRECTIVE = (
    # A quote may stand alone: then it is not looked for a partner far beyond.
    rb"#(?:[^\n\"'/\\]++|\\\n|\\|\"(?:[^\"\\\n]++|\\[\s\S]){0,40}+\""
    rb"|'(?:[^'\\\n]++|\\[\s\S]){0,40}+'|" + _C_COMMENTS + rb"|[\"'/])*+"
)
_C_RAW = rb"\b(?:u8|[uUL])?R\"(?P<name>[^ ()\\\t\n\"]{0,16})\([\s\S]*?(?:\)(?P=name)\"|\Z)"
_UNREAD_SKIP = rb"\"(?:[^\"\\\n]++|\\.){0,40}+\"|'(?:[^'\\\n]++|\\.){0,40}+'|//[^\n]*|" + _COMMENT
_UNREAD = _of(_UNREAD_SKIP, rb"(?P<open># {0,8}if)|(?P<close># {0,8}endif)")
_UNREAD_FIRST = _of(
    _UNREAD_SKIP, rb"(?P<open># {0,8}if)|(?P<close># {0,8}(?:endif|el(?:if|se)[^\n]*))"
)
_BRANCHES = {
    b"#" + b" " * blanks + word: pattern
    for blanks in range(9)
    for word, pattern in ((b"el", _UNREAD), (b"if", _UNREAD), (b"if 0", _UNREAD_FIRST))
}
_BRANCH = rb"(?P<open># {0,8}(?:el|if 0\b)|[(\[{])|(?P<close>[)\]}])|"

C = Lexemes(
    re.compile(
        _BRANCH
        + rb"(?P<skip>(?<![\w.])\.?[0-9][0-9A-Za-z_.]*+(?:'[0-9A-Za-z_]++)++|"
        + b"|".join((_C_COMMENTS, _DIRECTIVE, _C_RAW, _STRING, _CHAR))
        + rb")"
    ),
    _BRANCHES,
)


# C#. In `$"..."` code stands between braces.

_INTERPOLATED = _of(rb"\\[^\n]|\{\{", rb"(?P<open>\{)|(?P<close>[\"\n])")
_VERBATIM = _of(rb"\"\"|\{\{", rb"(?P<open>\{)|(?P<close>\")")

CSHARP = Lexemes(
    re.compile(
        _BRANCH.replace(rb"[(\[{]", rb"\$@\"|@\$\"|\$\"(?!\"\")|[(\[{]")
        + rb"(?P<skip>"
        + b"|".join(
            (
                _LINE,
                _COMMENT,
                rb"(?m:^)[ \t]*#[^\n]*",  # in a hole it is a format
                rb"(?:(?<!\$)\$++)?(?P<quotes>\"{3,32}+)[\s\S]*?(?:(?P=quotes)|\Z)",
                rb"@\"(?:[^\"]++|\"\")*+(?:\"|\Z)",
                _STRING,
                _CHAR,
            )
        )
        + rb")"
    ),
    {
        **_BRANCHES,
        b'$"': _INTERPOLATED,
        b'$@"': _VERBATIM,
        b'@$"': _VERBATIM,
    },
)


JAVA = Lexemes(
    _of(
        b"|".join(
            (
                _LINE,
                _COMMENT,
                rb"\"\"\"(?:[^\"\\]++|\\[\s\S]|\"(?!\"\"))*+(?:\"\"\"|\\?\Z|\"{0,2}\Z)",
                _STRING,
                _CHAR,
            )
        )
    )
)


KOTLIN = Lexemes(
    _of(
        b"|".join((_LINE, _CHAR, rb"`[^`\n]*`?", rb"\"\"(?!\")")),
        rb"(?P<open>\"\"\"|\"|/\*|[(\[{])|(?P<close>[)\]}])",
    ),
    {
        b"/*": _NESTED_COMMENT,
        b'"': _of(rb"\\[^\n]", rb"(?P<open>\$\{)|(?P<close>[\"\n])"),
        b'"""': re.compile(rb"(?P<open>\$\{)|(?P<close>\"{3,})"),
    },
)


# At the text's end a quote with one character may become one, though it may be a lifetime, too.
_RUST_CHAR = rb"'(?:\\[^\n][^'\n]*|[^'\\\n\x80-\xff]|[\xc0-\xff][\x80-\xbf]{1,3})(?:'|\Z)"

RUST = Lexemes(
    _of(
        b"|".join(
            (
                _LINE,
                rb"\b[bc]?r(?P<marks>#*)\"[\s\S]*?(?:\"(?P=marks)|\Z)",
                rb"\"(?:[^\"\\]++|\\[\s\S])*+(?:\"|\\?\Z)",
                _RUST_CHAR,
            )
        ),
        rb"(?P<open>/\*|[(\[{])|(?P<close>[)\]}])",
    ),
    {b"/*": _NESTED_COMMENT},
)


LUA = Lexemes(
    _of(
        rb"(?:--)?\[(?P<level>=*)\[[\s\S]*?(?:\](?P=level)\]|\Z)|--[^\n]*"
        rb"|\"(?:[^\"\\\n]++|\\z\s*|\\[\s\S])*+[\"\\]?|'(?:[^'\\\n]++|\\z\s*|\\[\s\S])*+['\\]?",
        rb"(?P<open>[(\[{]|\b(?:function|if|do|repeat)\b)|(?P<close>[)\]}]|\b(?:end|until)\b)",
    )
)


# SQL. The places of `sql.lark` where dialects differ are openers that nothing closes.

_SQL_STRING = rb"'(?:[^'\\]++|\\+[^'\\]|'')*+"
_SQL_DOUBTS = (
    _SQL_STRING + rb"\\+'",
    rb"\"\"\"",
    rb"\b[nN]?[qQ]'",
    rb"/\*(?:[^*/]++|\*(?!/)|/(?!\*))*+/\*",
    rb"[#\\][^\n\"'`()\[\]{}/$\\-]*+[^\n]++(?:\n|\Z)",
    rb"\{[{%#][^\n]*(?:\n|\Z)",
    rb"\b[sS][tT][dD][iI][nN]\b",
)

_SQL_SKIP = (
    rb"--[^\n]*",
    # The rest of a line without such doubts, but `stdin`: not looked for again at each `#`.
    rb"[#\\](?:[^\n\"'`()\[\]{}/$\\sS-]++|(?<=\w)[sS]|[sS](?![tT][dD][iI][nN]\b))*+",
    rb"\b[eE]'(?:[^'\\]++|\\[\s\S]|'')*+(?:'|\\?\Z)",
    rb"/\*(?:[^*/]++|\*(?!/)|/(?!\*))*+(?:\*/|\Z)",
    rb"\$(?P<tag>(?:[A-Za-z_]\w*)?)\$[\s\S]*?(?:\$(?P=tag)\$|\Z)",
    _SQL_STRING + rb"(?:'|\\*\Z)",
    rb"\"(?:[^\"]++|\"\")*+(?:\"|\Z)",
    rb"`[^`]*(?:`|\Z)",
)

SQL = Lexemes(
    re.compile(
        rb"(?P<open>"
        + b"|".join(_SQL_DOUBTS)
        + rb"|[(\[{])|(?P<close>[)\]}])|(?P<skip>"
        + b"|".join(_SQL_SKIP)
        + rb")"
    ),
    # Nothing matters behind such a place. By the last byte of what matches.
    dict.fromkeys((b"'", b'"', b"*", b"\n", b"n", b"N"), re.compile(rb"(?P<skip>\n)")),
)


# PHP. What is outside of `<?php ... ?>` is one lexeme.

_HEREDOC = (
    rb"<<<[ \t]*[\"']?(?P<word>\w+)[\"']?\n"
    rb"(?:(?:[\s\S]*?\n)??[ \t]*(?P=word)\b|[\s\S]*\Z)"
)

PHP = Lexemes(
    _of(
        b"|".join(
            (
                rb"(?:\A(?!\Z)|\?>)(?:[^<]++|<(?!\?))*+(?:<\?(?:php|=)?|<?\Z)",
                rb"(?://|#(?!\[))(?:[^\n?]++|\?(?!>))*+",
                _COMMENT,
                rb"'(?:[^'\\]++|\\[\s\S])*+(?:'|\\?\Z)",
                rb"`(?:[^`\\]++|\\[\s\S])*+(?:`|\\?\Z)",
                _HEREDOC,
            )
        ),
        rb"(?P<open>\"|#\[|[(\[{])|(?P<close>[)\]}])",
    ),
    {b'"': _of(rb"\\[\s\S]", rb"(?P<open>\{\$|\$\{)|(?P<close>\")")},
)


# Shell. Round brackets count outside of `case` blocks only.

_HERE = (
    rb"<<-?[ \t]*[\"'\\]?(?P<word>[\w.!%+-]+)[\"']?[^\n]*"
    rb"(?:\n(?:[\s\S]*?\n)??\t*(?P=word)(?=\n|\Z)|[\s\S]*\Z)"
)
_SHELL_SKIP = b"|".join(
    (
        rb"(?<![^\s;&|()<>])(?<!\\[ \t])#[^\n]*",
        rb"\\[\s\S]",
        rb"\$'(?:[^'\\]++|\\[\s\S])*+(?:'|\\?\Z)",
        rb"'[^']*(?:'|\Z)",
        rb"`(?:[^`\\]++|\\[\s\S])*+(?:`|\\?\Z)",
        rb"\$[#$]",
        rb"<<<",
        rb"<<[ \t]*[0-9]",
        _HERE,
    )
)
_CASE = rb"(?<![^\s;&|()<>`])case(?=[ \t])"

SHELL = Lexemes(
    _of(_SHELL_SKIP, rb"(?P<open><<|\$\(|\$\{|[(\"]|" + _CASE + rb")|(?P<close>\))"),
    {
        b'"': _of(
            rb"\\[\s\S]|`(?:[^`\\]++|\\[\s\S])*+(?:`|\\?\Z)",
            rb"(?P<open>\$\(|\$\{)|(?P<close>\")",
        ),
        b"${": _of(
            rb"\\[\s\S]|'[^'}\n]*'|`(?:[^`\\]++|\\[\s\S])*+(?:`|\\?\Z)",
            rb"(?P<open>\$\(|\$\{|\")|(?P<close>\})",
        ),
        b"case": _of(
            _SHELL_SKIP,
            rb"(?P<open>\$\(|\$\{|\"|" + _CASE + rb")|(?P<close>(?<![\w-])esac\b(?![\w-]))",
        ),
    },
)


TOML = Lexemes(
    _of(
        b"|".join(
            (
                rb"#[^\n]*",
                rb"\"\"\"(?:[^\"\\]++|\\[\s\S]|\"(?!\"\"))*+(?:\"{3,5}|\\?\Z|\"{1,2}\Z)",
                rb"'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)",
                _STRING,
                rb"'[^'\n]*'?",
            )
        )
    )
)
