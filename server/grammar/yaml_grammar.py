r"""YAML's grammar: columns, keys, scalars of all kinds and brackets, not what they mean.

What stands at which column is the structure of a YAML text. The engine knows no columns, so there
is a copy of the block rules for each of them: the keys of `map_4` stand in column 4. `value_4` is
what a key in column 4 or a `-` there has, down to the last line that is deeper.

A line takes along its line end and the empty lines and comments behind it, so a whole text ends
with a line end. Everything is accepted behind what is deeper than the last column, behind a key
that is a block (`? `), and in a document that is nothing but a block scalar.
"""

from functools import cache

COLUMNS = 40
"""How many columns have rules."""

DASHES = 5
"""The most blanks behind a `-` in front of something on the same line."""

# A `#` starts a comment behind a blank only, a `:` ends a key in front of a blank only.
_MORE = r"([^ \t\n#:]#*|:+([^ \t\n#:]#*|#+)|[ \t])*"
_FIRST = r"([^ \t\n\-?:,\[\]{}#&*!|>'\"%@`]#*|-+[^ \t\n\-]|[?:]+[^ \t\n?:])"
_FLOW_MORE = r"([^ \t\n,\[\]{}#:]#*|:+([^ \t\n,\[\]{}#:]#*|#+)|[ \t\n])*"
_FLOW_FIRST = r"([^ \t\n,\[\]{}#\"':&!*]|:+[^ \t\n,\[\]{}:])"

_COMMON = rf"""
start: (gap | DIRECTIVE)* document? (marker document?)*
marker: "---" BLANKS? eol | "..." BLANKS? eol | "---" BLANKS (beside | map_4 | PROPERTY BLANKS? eol)
beside: (PROPERTY BLANKS)* (plain | (quoted | flow | ALIAS) BLANKS? eol more_0* | HEADER_DOUBT)
plain: (PLAIN | "--") eol (PLAIN_MORE eol)*
document: plain | HEADER_DOUBT | (quoted | flow) BLANKS? eol | deeper_top | PROPERTY BLANKS? eol

eol: COMMENT? "\n" gap*
gap: EMPTY | COMMENT_LINE

// What is in quotes or brackets may go over several lines.
quoted: DOUBLE | SINGLE
flow: "[" in_flow* "]" | "{{" in_flow* "}}"
in_flow: FLOW_BLANKS | FLOW_PROPERTY | FLOW_PLAIN | FLOW_KEY | quoted | ":" | "," | COMMENT | flow
key: KEY | ALIAS_KEY | (quoted | flow | ALIAS) BLANKS? ":" | PROPERTY BLANKS key

DOUBLE: /"([^"\\]|\\(.|\n))*"/
SINGLE: /'([^']|'')*'/
FLOW_BLANKS: /[ \t\n]+/
FLOW_PROPERTY: /[&!*][^ \t\n,\[\]{{}}]*/
FLOW_PLAIN: /{_FLOW_FIRST}{_FLOW_MORE}/
FLOW_KEY: /{_FLOW_FIRST}{_FLOW_MORE}:+/

PROPERTY: /[&!][^ \t\n]*/
ALIAS: /\*[^ \t\n,\[\]{{}}]*[^ \t\n,\[\]{{}}:]/
ALIAS_KEY: /\*[^ \t\n,\[\]{{}}]+:/
HEADER: /[|>][-+0-9]*/
HEADER_DOUBT: /[|>](.|\n)*/
PLAIN: /{_FIRST}{_MORE}/
KEY: /{_FIRST}{_MORE}:+/
PLAIN_MORE: /( +[^ \t\n#]|[^ \t\n#.\-]|-[^ \t\n\-]){_MORE}/
// `--` and `-- x` are plain scalars, too, but `---` at a line's start is not.
DASHED: /--+([ \t][^\n]*)?/
BLANKS: /[ \t]+/
COMMENT: /#[^\n]*/
COMMENT_LINE: /[ \t]*#[^\n]*\n?/
EMPTY: /[ \t]*\n/
DIRECTIVE: /%[^\n]*\n/
BLOCK_KEY: /\?[ \t\n](.|\n)*/
DEEP: / {{{COLUMNS}}}(.|\n)*/
DEEP_ITEM: /-[ \t](.|\n)*/
FAR_ITEM: /-( {{{DASHES + 1}}}|[ \t]*\t)(.|\n)*/
"""


@cache
def lark() -> str:
    """The grammar's text."""
    top = "map_0 | seq_0" + "".join(
        f" | {_indent(c)} (map_{c} | seq_{c} | plain | DASHED eol (PLAIN_MORE eol)*)"
        for c in range(1, COLUMNS)
    )
    dashes = "".join(f'DASH_{n}: "-{" " * n}"\n' for n in range(1, DASHES + 1))
    indents = "".join(f'INDENT_{c}: "{" " * c}"\n' for c in range(1, COLUMNS))
    columns = "".join(map(_column, range(COLUMNS)))
    return f"{_COMMON}\ndeeper_top: {top} | DEEP\n{dashes}{indents}{columns}"


def _indent(column: int) -> str:
    return f"INDENT_{column}" if column else ""


def _column(c: int) -> str:
    """The rules of a column."""
    deeper = "".join(
        f"{_indent(d)} (map_{d} | seq_{d} | value_{c}) | " for d in range(c + 1, COLUMNS)
    )
    if c + 1 + DASHES < COLUMNS:
        inner = "".join(
            f"\n  | DASH_{n} (map_{c + 1 + n} | seq_{c + 1 + n} | value_{c} | eol deeper_{c}?)"
            for n in range(1, DASHES + 1)
        )
        item = f'"-" eol deeper_{c}?{inner}\n  | FAR_ITEM'
    else:
        item = f'"-" eol deeper_{c}? | DEEP_ITEM'
    return rf"""
map_{c}: entry_{c} ({_indent(c)} entry_{c})*
entry_{c}: key BLANKS? eol child_{c}? | key BLANKS value_{c} | BLOCK_KEY
seq_{c}: item_{c} ({_indent(c)} item_{c})*
item_{c}: {item}
child_{c}: deeper_{c} | {_indent(c)} seq_{c}
deeper_{c}: {deeper}DEEP
value_{c}: PLAIN eol more_{c}* | DASHED eol more_{c}* | (quoted | flow | ALIAS) BLANKS? eol
  | HEADER BLANKS? COMMENT? "\n" block_{c}*
  | PROPERTY BLANKS value_{c} | PROPERTY BLANKS? eol child_{c}?
more_{c}: MORE_{c} eol
block_{c}: BLOCK_{c} | gap
MORE_{c}: / {{{c + 1}}}[ \t]*[^ \t\n#]{_MORE}/
BLOCK_{c}: / {{{c + 1}}}[^\n]*\n?/
"""
