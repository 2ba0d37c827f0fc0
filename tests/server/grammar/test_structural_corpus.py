r"""The grammars of `structural` on hundreds of real files per language.

No prefix of a real file may be refused, neither from its start nor from a window. Two more figures
are printed: how fast, and how many files with one bracket or quote too many or too few are refused
at some later place or may not end.
"""

import sysconfig
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from time import perf_counter

import pytest
import yaml

from server.grammar import structural_lexemes
from server.grammar.structural import LADDERS
from server.grammar.structural_lexemes import Lexemes
from tests.server.grammar.corpora import fetch_debian, fetch_npm, sources
from tests.server.grammar.corpus import accepts_every_cut, cuts, mutated, sample
from tests.server.grammar.structural_states import behind, template

FILES = 350
"""Files of each language, as far as there are so many."""


@dataclass(frozen=True)
class Corpus:
    packages: tuple[str, ...]
    """Debian's packages, and those of npm with a version behind an `@`."""
    endings: tuple[str, ...]
    without: str = "/no such folder/"
    """Part of the paths of files that are not whole or not meant to be right."""
    parses: Callable[[bytes], object] = bytes.decode
    """Raises an error for a text that is not in the language."""


NATIVE = ("react-native@0.76.9",)


def parse_yaml(text: bytes) -> None:
    """Raises an error if a text is no YAML, or is but a scalar (INI files are)."""
    events = list(yaml.parse(text, yaml.CSafeLoader))
    if any(isinstance(event, yaml.ScalarEvent) for event in events[2:3]):
        raise yaml.YAMLError("a scalar")


CORPORA = {
    "c": Corpus(("gnulib", "linux-libc-dev"), (".c", ".h"), "-part"),
    "cpp": Corpus(("libboost1.74-dev", *NATIVE), (".hpp", ".cpp")),
    "objective-c": Corpus(NATIVE, (".m", ".mm")),
    "csharp": Corpus(("react-native-windows@0.76.9",), (".cs",)),
    "java": Corpus(NATIVE, (".java",)),
    "kotlin": Corpus(NATIVE, (".kt",)),
    "lua": Corpus(("prosody", "awesome", "neovim-runtime"), (".lua",)),
    "php": Corpus(("mediawiki", "roundcube-core"), (".php", ".inc")),
    "rust": Corpus(("rust-src",), (".rs",), "/src/test/"),
    "shellscript": Corpus(("bash-completion", "dracut-core", "gnulib"), ("", ".sh"), "/doc/"),
    "sql": Corpus(("mediawiki", "postgresql-15", "roundcube-core"), (".sql",)),
    "toml": Corpus(("rust-src",), (".toml",), parses=lambda text: tomllib.loads(text.decode())),
    "yaml": Corpus(("ansible",), (".yml", ".yaml"), parses=parse_yaml),
}

LEXEMES: dict[str, Lexemes] = {
    "c": structural_lexemes.C,
    "cpp": structural_lexemes.C,
    "objective-c": structural_lexemes.C,
    "csharp": structural_lexemes.CSHARP,
    "java": structural_lexemes.JAVA,
    "kotlin": structural_lexemes.KOTLIN,
    "lua": structural_lexemes.LUA,
    "php": structural_lexemes.PHP,
    "rust": structural_lexemes.RUST,
    "shellscript": structural_lexemes.SHELL,
    "sql": structural_lexemes.SQL,
}

QUOTED = b"\"'`"


@cache
def texts(language: str) -> dict[Path, bytes]:
    """Random files of a language."""
    corpus = CORPORA[language]

    def read(path: Path) -> bytes | None:
        if corpus.without in str(path) or ("" in corpus.endings and not is_script(path)):
            return None
        text = path.read_bytes().replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")
        try:
            corpus.parses(text)
        except (ValueError, yaml.YAMLError):
            return None
        return text

    folders = [
        fetch_npm(*package.split("@")) if "@" in package else fetch_debian(package)
        for package in corpus.packages
    ]
    return sample(sources(folders, *corpus.endings), FILES, Random(4), read)


def is_script(path: Path) -> bool:
    """Whether a file is a script of a shell, by its name or its folder."""
    return path.suffix == ".sh" or "/completions/" in str(path)


def line(path: Path, text: bytes, offset: int) -> str:
    """Where an offset is, for a person."""
    return f"{path}:" + str(text.count(b"\n", 0, offset) + 1)


def places(language: str, text: bytes) -> list[int]:
    """Offsets of a text's brackets and of the last quotes of its strings."""
    matches = LEXEMES[language].code.finditer(text)
    return [
        match.end() - 1
        for match in matches
        if match.lastgroup != "skip" or (match[0][-1] in QUOTED and match[0][0] not in b"#/-")
    ]


def broken(language: str, text: bytes, start: int, random: Random) -> bytes | None:
    """A text with a bracket or quote too many or too few, soon behind an offset."""
    near = [place for place in places(language, text) if start <= place < start + 400]
    if not near:
        return None
    place = random.choice(near)
    if random.random() < 0.5:
        return text[:place] + text[place + 1 :]
    return text[:place] + bytes([random.choice(b"()[]{}")]) + text[place:]


class TestFiles:
    def test_python_headers_are_accepted(self):
        """Some files that every machine with Python's headers has."""
        headers = sorted(Path(sysconfig.get_path("include")).glob("*.h"))[:40]

        assert [
            header.name
            for header in headers
            if accepts_every_cut(template("c"), header.read_bytes()) is not None
        ] == []

    @pytest.mark.corpus
    @pytest.mark.parametrize("language", CORPORA)
    def test_are_accepted_at_every_cut(self, language, report):
        seconds = 0.0
        refused: list[str] = []
        for path, text in texts(language).items():
            started = perf_counter()
            offset = accepts_every_cut(template(language), text)
            seconds += perf_counter() - started
            if offset is not None:
                refused.append(line(path, text, offset))
        size = sum(map(len, texts(language).values()))
        report(
            f"{language}: {len(texts(language))} files, {size} cuts accepted,"
            f" {1e6 * seconds / size:.1f} us a byte"
        )

        assert refused == []

    @pytest.mark.corpus
    @pytest.mark.parametrize("language", CORPORA)
    def test_go_on_behind_windows(self, language, report):
        """The rest of a file fits behind a window of any cut of it."""
        random = Random(5)
        refused: list[str] = []
        sizes: list[int] = []
        seconds = 0.0
        for path, text in texts(language).items():
            for cut in cuts(text, 2, random):
                started = perf_counter()
                sizes.append(len(LADDERS[language](text[:cut])[0].window(text[:cut])))
                seconds += perf_counter() - started
                state = behind(language, text[:cut])
                if state is None or state.feed(text[cut:], 60) < len(text) - cut:
                    refused.append(line(path, text, cut))
        report(
            f"{language}: {len(sizes)} windows, {sum(sizes) / len(sizes):.0f} bytes on average,"
            f" {1e6 * seconds / len(sizes):.0f} us"
        )

        assert refused == []

    @pytest.mark.corpus
    @pytest.mark.parametrize("language", LEXEMES)
    def test_that_are_broken_are_refused_in_part(self, language, report):
        random = Random(6)
        tried = caught = 0
        for text in texts(language).values():
            (cut,) = cuts(text, 1, random)
            wrong = broken(language, text, cut, random)
            state = behind(language, text[:cut])
            if wrong is None or state is None:
                continue
            tried += 1
            rest = wrong[cut:]
            caught += state.feed(rest, 60) < len(rest) or not state.accepting
        report(f"{language}: {caught} of {tried} broken files refused")

        assert caught > tried / 3

    @pytest.mark.corpus
    @pytest.mark.parametrize("language", ["toml", "yaml"])
    def test_that_a_parser_refuses_are_refused(self, language, report):
        """And what it takes is accepted, however odd."""
        parses = CORPORA[language].parses
        random = Random(7)
        wrong = caught = right = 0
        refused: list[bytes] = []
        for text in texts(language).values():
            changed = mutated(text, random) + b"\n"
            state = template(language).state()
            fits = state.feed(changed, 60) == len(changed)
            try:
                parses(changed)
            except (ValueError, yaml.YAMLError):
                wrong += 1
                caught += not (fits and state.accepting)
            else:
                right += 1
                refused += [] if fits else [changed]
        report(
            f"{language}: {caught} of {wrong} broken files refused,"
            f" {right - len(refused)} of {right} changed ones accepted"
        )

        assert caught > 0.8 * wrong
