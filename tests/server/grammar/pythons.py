"""What tests of Python's grammar share: continuations to tell states apart by."""

from server.grammar.state import SyntaxState, Template

PROBES = (
    *(
        b"\n",
        b"x\n",
        b" x\n",
        b"    x\n",
        b"\n  x",
        b"\n    x\n",
        b"\n        x\n",
        b"1",
        b"(",
        b".x",
    ),
    *(b")", b"]", b"}", b'"', b"'", b'"""', b"}'", b'}"', b": ", b"=1", b", x", b" if ", b"and x"),
    *(
        b" for x in y",
        b"import x",
        b"def f():",
        b"async def",
        b"@x\n",
        b"return",
        b"# c\n",
        b"\\\n",
    ),
    *(b"else:", b"elif x:", b"except:", b"except X:", b"except* X:", b"finally:", b"case 1:"),
    *(b"\nelse:", b"\nexcept X:\n", b"\nx = 1\n", b"\n    else:\n     x", b"\n    case 1:"),
)
"""Each is possible in some places and not in others."""


def verdicts(state: SyntaxState) -> tuple[bool, ...]:
    """Whether the text could go on with each probe, and whether it may end."""
    return (*(state.check(probe) for probe in PROBES), state.accepting)


def verdicts_after(template: Template, before: bytes) -> tuple[bool, ...]:
    """The same for a text; empty if it is wrong itself."""
    state = template.state()
    return verdicts(state) if state.feed(before) == len(before) else ()
