"""`make demo`: what healing does, shown on two small texts by the real model.

Each text is completed twice, side by side: with exact healing, and without any (then the model goes
on from the tokens of the text as it was typed). Nothing is prepared but the texts: what is shown is
what the model says in this run. Under each answer stands what Python itself makes of the text with
the answer in it; the text is only read, never run.

`python -m server.demo --svg FILE` writes the same page as a picture as well. What is not here: a
measure of how much healing helps; two texts are chosen so that one sees the difference.
"""

import ast
import builtins
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import click
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.completer import Completer, load_completer
from server.completion import interruptible
from server.completion_options import CompletionOptions
from server.errors import MidtokenError, ModelError
from server.models import store
from server.models.catalog import CATALOG, DEFAULT_MODEL
from server.report import Completion
from server.snapshot import Snapshot, offset_at
from server.terminal import count, duration, make_console, quoted, shown_path
from server.visible import visible

CURSOR = "║"
SVG_CELLS = 84


@dataclass(frozen=True)
class Example:
    """A Python text to complete; `CURSOR` stands where the cursor is."""

    title: str
    name: str
    text: str

    @property
    def typed(self) -> str:
        """The cursor's line before the cursor."""
        return self.text.partition(CURSOR)[0].rpartition("\n")[2]

    @property
    def snapshot(self) -> Snapshot:
        """The text without the mark."""
        before, after = self.text.split(CURSOR)
        text = (before + after).encode()
        return Snapshot(self.name, 0, text, len(before.encode()), "python")


EXAMPLES = (
    Example(
        "In the middle of an identifier",
        "temperature.py",
        f"def fahrenheit(celsius):\n    return cels{CURSOR}\n",
    ),
    Example(
        "In the middle of an indentation",
        "mean.py",
        f"def mean(xs):\n    total = sum(xs)\n  {CURSOR}\n",
    ),
)


@dataclass(frozen=True)
class Answer:
    """One completion of an example."""

    heading: str
    completion: Completion
    took_ms: float


@click.command()
@click.option("--svg", metavar="FILE", help="Write the page as a picture, too.")
def demo(svg: str | None) -> None:
    """Show completions with and without healing, side by side."""
    if not store.is_whole(CATALOG[DEFAULT_MODEL]):
        raise ModelError(
            f"the demo needs {DEFAULT_MODEL}: `make model` or `midtoken model pull {DEFAULT_MODEL}`"
            " fetches it"
        )
    path = store.resolve(DEFAULT_MODEL)
    console = make_console()
    console.print(Text("loading the model", style="dim"))
    pages: list[Group] = []

    def work(completers: list[Completer]) -> None:
        started = perf_counter()
        completer = load_completer(path)
        completers.append(completer)
        loaded = duration(1e3 * (perf_counter() - started))
        info = completer.engine.info
        head = f"{DEFAULT_MODEL} on {visible(info.backend)}, loaded in {loaded}"
        # The first passes of a fresh model are slow, which would be blamed on the first method.
        completer.complete(Snapshot("warm.py", 0, b"x = ", 4, "python"))
        show(Group(Text(head, style="dim")))
        for example in EXAMPLES:
            answers = [
                answer(completer, example, "exact", "with healing"),
                answer(completer, example, "off", "without healing"),
            ]
            show(example_page(example, answers, tokens_remark(completer, example, answers[0])))

    def show(page: Group) -> None:
        pages.append(page)
        print_page(console, page)

    interruptible(work)
    show(closing_page())
    if svg is not None:
        write_svg(Path(svg), pages)


def answer(completer: Completer, example: Example, healing: str, heading: str) -> Answer:
    """Complete an example with one method, and say how long it took."""
    started = perf_counter()
    completion = completer.complete(
        example.snapshot, CompletionOptions(healing=healing, max_tokens=32)
    )
    return Answer(heading, completion, 1e3 * (perf_counter() - started))


def tokens_remark(completer: Completer, example: Example, healed: Answer) -> str:
    """How the model's tokens of the typed text differ from those of the whole line."""
    vocabulary, encode = completer.tokenization.vocabulary, completer.tokenization.encode
    items = healed.completion.items
    typed, text = example.typed.encode(), items[0].text.encode() if items else b""

    def pieces(line: bytes) -> str:
        shown, length = [], 0
        for token in encode(line):
            shown.append(vocabulary[token].decode(errors="backslashreplace"))
            length += len(vocabulary[token])
            if length > len(typed):
                break
        return " ".join(f"[{visible(piece)}]" for piece in shown)

    return f"tokens as typed:    {pieces(typed)}\nin the whole line:  {pieces(typed + text)}"


def example_page(example: Example, answers: list[Answer], remark: str) -> Group:
    """An example, a remark on it, and its answers side by side."""
    before, after = (part.rstrip("\n") for part in example.text.split(CURSOR))
    source = Text("\n").join(
        [Text("  ") + line for line in Text.assemble(before, ("|", "bold red"), after).split()]
    )
    table = Table(box=None, expand=False, padding=(0, 3, 0, 2), header_style="bold")
    for given in answers:
        table.add_column(given.heading, overflow="fold", min_width=34)
    table.add_row(*(result_line(example, given.completion) for given in answers))
    table.add_row(*(verdict_line(example, given.completion) for given in answers))
    table.add_row(*(costs_line(given) for given in answers))
    title = Text.assemble((example.title, "bold cyan"), ("  " + example.name, "dim"))
    note = Text("\n".join("  " + line for line in remark.splitlines()), style="dim")
    return Group(Text(), title, Text(), source, Text(), note, Text(), table)


def result_line(example: Example, completion: Completion) -> Text:
    """The cursor's line with the suggestion in it, blanks and all."""
    if not completion.items:
        reason = completion.empty_reason or "no reason was given"
        return Text.assemble(example.typed, (f" (nothing: {reason})", "dim"))
    return Text.assemble(example.typed, (visible(completion.items[0].text), "bold green underline"))


def verdict_line(example: Example, completion: Completion) -> Text:
    """What Python makes of the text with the suggestion in it."""
    if not completion.items:
        return Text()
    snapshot, item = example.snapshot, completion.items[0]
    (line, start), (_, end) = item.start, item.end
    first = offset_at(snapshot.text, line + 1, start + 1)
    last = offset_at(snapshot.text, line + 1, end + 1)
    result = snapshot.text[:first] + item.text.encode() + snapshot.text[last:]
    fault = python_fault(result.decode())
    return Text(visible(fault), style="red") if fault else Text("Python reads it", style="green")


def costs_line(given: Answer) -> Text:
    """Time and tokens, and what was typed again."""
    healing, tokens = given.completion.healing, given.completion.tokens
    again = f", retyped {quoted(healing.backed_up_text)}" if healing.backed_up_text else ""
    costs = f"{duration(given.took_ms)}, {count(tokens.evaluated, 'token')}{again}"
    return Text(costs, style="dim")


def python_fault(source: str) -> str | None:
    r"""Why Python would refuse a text: its syntax, or a name that nothing defines.

    >>> python_fault("def f(x):\n    return xx\n")
    'nothing is called xx'
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return f"{type(error).__name__}: {error.msg}"
    known = set(dir(builtins))
    used = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used.append(node.id)
            else:
                known.add(node.id)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            known.add(node.name)
        elif isinstance(node, ast.alias):
            known.add((node.asname or node.name).partition(".")[0])
    unknown = next((name for name in used if name not in known), None)
    return unknown and f"nothing is called {unknown}"


def closing_page() -> Group:
    """How to go on."""
    command = Path(sys.executable).parent / "midtoken"
    if command.is_relative_to(Path.cwd()):
        command = command.relative_to(Path.cwd())
    shown = visible(shown_path(str(command)))
    return Group(
        Text(),
        Text("Try it on a file of your own:", style="bold"),
        Text(f"  {shown} complete FILE:LINE:COLUMN --explain", style="cyan"),
    )


def print_page(console: Console, page: Group) -> None:
    """Print a part of the demo; without blanks at the ends of lines where it is piped."""
    if console.is_terminal:
        console.print(page)
        return
    with console.capture() as capture:
        console.print(page)
    for line in capture.get().splitlines():
        console.print(line.rstrip())


def write_svg(path: Path, pages: list[Group]) -> None:
    """The pages as a picture that needs nothing from elsewhere. Raises MidtokenError."""
    console = Console(
        record=True,
        file=io.StringIO(),
        width=SVG_CELLS,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    for page in pages:
        console.print(page)
    drawn = console.export_svg(title="make demo", unique_id="midtoken")
    # The drawing asks a server for its font; every viewer has a monospaced one of its own.
    drawn = re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("Fira Code", "ui-monospace")
    try:
        path.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise MidtokenError(f"{path} cannot be written: {error.strerror}") from error


def main(arguments: list[str] | None = None) -> None:
    """Run the demo and exit; every error becomes one line on standard error."""
    try:
        demo.main(args=arguments, standalone_mode=False)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"midtoken: {error.format_message()}", err=True)
        sys.exit(2)
    except MidtokenError as error:
        click.echo(f"midtoken: {error}", err=True)
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):
        click.echo("midtoken: cancelled", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
