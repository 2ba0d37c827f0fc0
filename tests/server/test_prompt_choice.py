"""Which prompt a place gets: what is read in time, or more where the memory holds it."""

from dataclasses import replace

import pytest

from server.completion_options import CompletionOptions
from server.prompt import SUFFIX_SHARE
from server.prompt_choice import BESIDE_FROM, BESIDE_SHARE, LARGEST_SHARE, MARKS, PromptChoice
from server.snapshot import Snapshot
from server.speed import Reading
from server.workspace.chunks import Chunk
from server.workspace.context import Material
from tests.server.engine.fresh import refuse_cuts
from tests.server.test_window import program

AFTER = b"\n" + b"".join(program(2, 200))
TEXT = b"".join(program(1, 700))
LINE = b"  total = "


def snapshot_of(before, after=AFTER):
    return Snapshot("a.py", 0, before + after, len(before), "python")


def site_of(completer, before=TEXT + LINE, after=AFTER, **changed):
    options = CompletionOptions(max_tokens=16)
    return replace(completer._site(snapshot_of(before, after), options), **changed)


@pytest.fixture
def completer(load_tiny):
    """A model with room for some prompts, just loaded."""
    return load_tiny(n_ctx=4096)


def choice_of(completer, tokens_a_second=45.0):
    reading = Reading(tokens_a_second, tokens_a_second)
    return PromptChoice(completer.engine, completer.tokenization, reading)


def read(completer, text):
    engine = completer.engine
    engine.evaluate(engine.open(text), [], [])


class TestCold:
    @pytest.mark.parametrize(
        ("speed", "seconds", "tokens"),
        [(40, 2.0, 80), (80, 2.0, 160), (80, 1.0, 80), (1, 2.0, 80), (9e4, 2.0, 2400)],
    )
    def test_what_is_read_in_time(self, completer, speed, seconds, tokens):
        """A file of which nothing is in memory: a step that is read in time."""
        prompt = choice_of(completer, speed).choose(site_of(completer, seconds=seconds))

        assert 0.4 * tokens <= len(prompt.head) <= tokens + 3

    def test_what_the_user_says(self, completer):
        """A number of tokens is that number, however fast the model is."""
        choice = choice_of(completer, 1.0)
        prompts = choice.ahead(site_of(completer, tokens=300))

        assert all(150 < len(choice.text(prompt)) <= 303 for prompt in prompts)

    def test_room(self, load_tiny):
        """However fast the model is, prompt and answer fit its context."""
        small = load_tiny(n_ctx=512)
        site = site_of(small, answer_tokens=10_000)
        for seconds in (2.0, 1e9):
            for prompt in choice_of(small).ahead(replace(site, seconds=seconds)):
                assert len(prompt.head) <= 512 // 2


class TestGrowth:
    def after(self, completer, prompt):
        """Tokens of the text after the cursor."""
        return len(prompt.head) - 2 - prompt.head.index(completer.engine.fim.suffix)

    def test_larger_ones(self, completer):
        """Each is larger before the cursor, the last one after it, and one leaves room."""
        prompts = choice_of(completer).ahead(site_of(completer))[:4]
        sizes = [len(prompt.head) for prompt in prompts]
        first, *larger, last = (self.after(completer, prompt) for prompt in prompts)

        assert sizes == sorted(sizes)
        assert len(sizes) == 4
        assert 700 < sizes[-1] <= LARGEST_SHARE * 4096
        assert larger == [first, first]
        assert 0 < first <= 80 // SUFFIX_SHARE
        assert 2 * first < last <= 80

    @pytest.mark.parametrize("lines", range(2, 16))
    def test_one_text(self, completer, lines):
        """Where the first prompt holds all, there is one prompt, whatever is in memory."""
        choice = choice_of(completer, 80.0)
        site = site_of(completer, b"".join(program(1, lines)) + LINE, b"")
        prompt = choice.choose(site)
        read(completer, choice.text(choice._build(site, choice._sizes(site)[0])))

        assert choice.choose(site) == prompt
        assert choice.ahead(site) == [prompt]

    def test_taken_when_read(self, completer):
        """What has been read is used, and nothing else: also if only the answer is missing."""
        choice, site = choice_of(completer), site_of(completer)
        prompts = choice.ahead(site)
        assert choice.choose(site) == prompts[0]
        for prompt in prompts[:4]:
            read(completer, choice.text(prompt)[:-5])
            assert choice.choose(site) == prompt
        assert choice.ahead(site) == prompts[3:]

    def test_after_a_new_line(self, completer):
        """A new line costs itself and a little text after it; a pause makes it more of that."""
        choice = choice_of(completer)
        largest = choice.ahead(site_of(completer))[3]
        read(completer, choice.text(largest))
        later = site_of(completer, TEXT + LINE + b"size\n  ")
        prompt = choice.choose(later)
        rich = max(choice.ahead(later), key=lambda prompt: self.after(completer, prompt))

        assert len(prompt.head) > len(largest.head) - 80
        assert choice.missing(prompt) < 60
        assert choice.missing(rich) < 120
        assert self.after(completer, rich) == self.after(completer, largest)

    def test_the_cheapest_is_good_enough(self, completer):
        """That the smallest prompt is not in memory is no reason to wait for the largest."""
        choice, site = choice_of(completer), site_of(completer)
        _, _, large, rich = choice.ahead(site)[:4]
        read(completer, choice.text(rich))
        later = site_of(completer, TEXT + LINE + b"size\n  ")
        prompt = choice.choose(later)

        smallest = choice._build(later, choice._sizes(later)[0])
        assert choice.missing(prompt) < choice.missing(smallest) - 10
        assert len(prompt.head) > len(large.head) - 80

    def test_the_next_window(self, completer):
        """When the start of the largest prompt moves, its beginning has been read before."""
        choice, text, starts, costs = choice_of(completer, 20.0), TEXT, set(), []
        for line in program(4, 60):
            for prompt in choice.ahead(site_of(completer, text)):
                read(completer, choice.text(prompt))
            text += line
            site = site_of(completer, text)
            prompt = choice._build(site, choice._sizes(site)[-2])
            starts.add(prompt.head[1:20])
            costs.append(choice.missing(prompt))

        assert len(starts) > 3
        assert sum(cost > 250 for cost in costs) <= 2  # a new mark

    def test_half_of_it(self, completer):
        """A larger prompt of which much is missing would be waited for: the first one is taken."""
        choice, site = choice_of(completer), site_of(completer)
        first, *_, largest = choice.ahead(site)
        read(completer, largest.head[: len(largest.head) // 2])

        assert choice.choose(site) == first

    def test_a_short_document(self, completer):
        """Where all of the document is in the prompt, there is no larger one."""
        choice = choice_of(completer)

        assert len(choice.ahead(site_of(completer, b"import os\nx = ", b"\n"))) == 1

    @pytest.mark.parametrize("model", [{"architecture": "mamba"}, {"architecture": "gemma3"}])
    def test_other_memories(self, load_tiny, model):
        """Where a new line makes all of a prompt worthless, none is made larger."""
        completer = load_tiny(n_ctx=4096, **model)

        assert len(choice_of(completer).ahead(site_of(completer))) == 1

    def test_a_memory_that_refuses(self, completer, monkeypatch):
        """Nor where that shows later."""
        refuse_cuts(monkeypatch)
        completer.complete(snapshot_of(TEXT + LINE), CompletionOptions(max_tokens=2))
        completer.complete(snapshot_of(TEXT + LINE + b"x"), CompletionOptions(max_tokens=2))

        assert not completer.engine.info.trees
        assert len(choice_of(completer).ahead(site_of(completer))) == 1

    def test_what_comes_back(self, completer):
        """Whoever can put prompts back is asked before the memory, and what he puts back counts."""
        choice, site = choice_of(completer), site_of(completer)
        first, _, _, largest = choice.ahead(site)[:4]
        asked = []

        def recall(prompt):
            asked.append(prompt)
            if prompt == largest:
                read(completer, choice.text(prompt))

        assert choice.choose(site, recall) == largest
        assert asked == [first, largest]


class TestOtherPlaces:
    PARTS = tuple(Chunk(f"lib/{seed}.py", b"".join(program(seed, 200))) for seed in (5, 6))
    MATERIAL = Material("project", "a.py", PARTS, Chunk("a.py", b"import os\n"), PARTS[:1])

    @pytest.fixture
    def completer(self, load_tiny):
        """A model that knows marks for files."""
        return load_tiny(n_ctx=4096, dialect="Qwen")

    def others(self, completer, prompt):
        """The tokens before the document's own text."""
        return prompt.head.index(completer.engine.fim.prefix)

    def test_in_large_prompts_only(self, completer):
        """What other places say costs a first suggestion nothing."""
        choice = choice_of(completer)
        plain = choice.ahead(site_of(completer))
        prompts = choice.ahead(site_of(completer, material=self.MATERIAL))

        assert prompts[0] == plain[0]
        sizes = [(len(prompt.head), self.others(completer, prompt)) for prompt in prompts]
        assert any(others for _, others in sizes)
        for size, others in sizes:
            assert size >= BESIDE_FROM // 2 or not others

    def test_it_is_a_part_of_the_budget(self, completer):
        choice = choice_of(completer)
        for before in (BESIDE_FROM - 1, BESIDE_FROM, 1500):
            tokens = before * SUFFIX_SHARE // (SUFFIX_SHARE - 1)
            prompt = choice.choose(site_of(completer, tokens=tokens, material=self.MATERIAL))
            others = self.others(completer, prompt)

            assert len(prompt.head) <= tokens + MARKS
            assert others <= before // BESIDE_SHARE + MARKS
            assert (others > before // BESIDE_SHARE // 2) == (before >= BESIDE_FROM)

    def test_the_front_stays_while_somebody_types(self, completer):
        choice, fronts = choice_of(completer), set()
        for line in range(20):
            site = site_of(completer, TEXT + b"  size = 1\n" * line, tokens=2000)
            prompt = choice.choose(replace(site, material=self.MATERIAL))
            fronts.add(prompt.head[: self.others(completer, prompt)])

        assert len(fronts) == 1

    def test_in_a_short_document(self, completer):
        """There is room for others where a document has little to say."""
        choice = choice_of(completer)
        site = site_of(completer, b"import os\nx = ", b"\n", material=self.MATERIAL)
        first, *larger = choice.ahead(site)
        for prompt in larger:
            read(completer, prompt.head)

        assert self.others(completer, first) == 0
        assert self.others(completer, choice.choose(site)) > 0

    def test_nothing_to_say(self, completer):
        choice = choice_of(completer)
        site = site_of(completer, tokens=2000)

        assert choice.choose(replace(site, material=Material("p", "a.py"))) == choice.choose(site)
