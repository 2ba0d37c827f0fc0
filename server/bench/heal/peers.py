"""llama.cpp's own server, asked for the same text: what one gets without healing, elsewhere.

It runs in a process of its own (`llama_server`), with the same model file. `/infill` is given the
texts of our own unhealed prompt, `/completion` the whole of it, both at temperature 0.
What is not here: judging what it writes.
"""

from server.bench.heal.places import Place
from server.bench.heal.prompts import prompt_at
from server.bench.llama_server import LlamaProcess, post
from server.completer import Completer
from server.errors import EngineError


class LlamaServer(LlamaProcess):
    """A running server that is asked for lines."""

    def infill(self, completer: Completer, place: Place, tokens: int, context: int) -> bytes:
        """The first line of what it writes into a hole at the cursor.

        Args:
            completer: Whose unhealed prompt says how much text is given; a model with marks.
            place: The cursor; `rest` is not given.
            tokens: The most to write.
            context: The most tokens of text around the hole.
        """
        before, after = hole_texts(completer, place, context)
        rest = place.after.split(b"\n", 1)[0].decode(errors="replace")
        if not after.startswith(rest):  # brackets that our prompt takes into the hole
            after = rest + after
        line = before.rfind("\n") + 1
        answer = post(
            self.address,
            "/infill",
            {
                "input_prefix": before[:line],
                "prompt": before[line:],
                "input_suffix": after,
                "input_extra": [],
                "n_predict": tokens,
                "temperature": 0,
                "cache_prompt": True,
            },
        )
        return str(answer["content"]).split("\n", 1)[0].encode()

    def complete(self, completer: Completer, place: Place, tokens: int, context: int) -> bytes:
        """What it writes after the cursor to the line's end, given the text before it alone."""
        prompt = prompt_at(completer, place, "left", "cursor", context)
        text = completer.tokenization.vocabulary.decode(prompt.head).decode(errors="replace")
        answer = post(
            self.address,
            "/completion",
            {"prompt": text, "n_predict": tokens, "temperature": 0, "stop": ["\n"]},
        )
        return str(answer["content"]).encode()


def hole_texts(completer: Completer, place: Place, context: int) -> tuple[str, str]:
    """The texts before and after the hole of our unhealed prompt. EngineError without marks."""
    fim = completer.engine.fim
    if fim is None:
        raise EngineError("this model has no fill-in-the-middle tokens: nothing to compare with")
    head = prompt_at(completer, place, "fim", "cursor", context).head
    found = []
    for mark in (fim.prefix, fim.suffix):
        start = head.index(mark) + 1
        ends = [at for at in range(start, len(head)) if head[at] in fim.marks]
        tokens = head[start : ends[0] if ends else len(head)]
        found.append(completer.tokenization.vocabulary.decode(tokens).decode(errors="replace"))
    return found[0], found[1]
