"""The forced literal, read by Python's and Rust's patterns, and by two readers of GBNF."""

import ctypes
import doctest
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLTokenizer

from server.engine.llama_library import load_library
from server.engine.llama_vocabulary import vocabulary_of
from server.grammar.gbnf import gbnf_to_lark
from server.remote import literal
from server.remote.literal import can_be_forced, gbnf, pattern
from tests.vocabularies import vocabulary_only

META = r"""\.+*?()|[]{}^$"'/-#&~<> """ + "\n\r\t\x01\x1f\x7f\x85é本😀"
texts = st.text(st.one_of(st.sampled_from(META), st.characters(exclude_categories=["Cs"])))
literals = texts.filter(lambda text: "\0" not in text)
HARD = 'f(r"\\d+$", [^a-z]{2}) | x * 2 # é本\n\t"'


def accepts(grammar, text):
    """Whether llguidance takes all of a text, and could end there."""
    matcher = LLMatcher(LLTokenizer("byte"), grammar)
    assert not matcher.get_error()
    data = list(text.encode())
    if matcher.validate_tokens(data) < len(data):
        return False
    matcher.consume_tokens(data)
    return matcher.is_accepting()


class TestPatterns:
    @given(literals, literals)
    @example(HARD, "")
    @settings(max_examples=300)
    def test_python_reads_the_literal(self, text, more):
        """The pattern matches the literal with anything after it, and no other beginning."""
        found = pattern(text.encode())

        assert re.fullmatch(found, text + more)
        assert re.fullmatch(found.removesuffix(literal.ANYTHING_PATTERN), text)
        if not more.startswith(text):
            assert not re.fullmatch(found, more)

    @given(literals, literals)
    @example(HARD, "\n")
    @settings(max_examples=100)
    def test_rust_reads_the_literal(self, text, more):
        """The same in the regex syntax of llguidance, which vLLM and SGLang can run."""
        grammar = LLMatcher.grammar_from_regex(pattern(text.encode()))

        assert accepts(grammar, text + more)
        assert accepts(grammar, more) == more.startswith(text)

    def test_control_characters_end_where_they_do(self):
        """xgrammar reads `\\x01b` as one number, whatever others do."""
        assert pattern(b"\x01b\x7f0") == r"\u0001b\u007f0" + literal.ANYTHING_PATTERN
        assert gbnf(b"\x01b") == r'root ::= "\u0001b" ' + literal.ANYTHING_GBNF

    def test_only_what_all_engines_know_is_escaped(self):
        """Letters, blanks and other marks stand as they are: `\\-` or `\\ ` are errors to some."""
        assert pattern(b"a -b/c#d") == "a -b/c#d" + literal.ANYTHING_PATTERN


class TestGrammars:
    @given(literals, literals)
    @example(HARD, "\n")
    @settings(max_examples=100)
    def test_gbnf_is_the_literal(self, text, more):
        """The grammar takes the literal with anything after it, and no other beginning."""
        grammar = LLMatcher.grammar_from_lark(gbnf_to_lark("forced", gbnf(text.encode())))
        more = more.replace("\0", "")

        assert accepts(grammar, text + more)
        assert accepts(grammar, more) == more.startswith(text)

    @pytest.mark.parametrize("text", [HARD, 'retu"rn\\', "\t\tif x:\r\n", "é本😀", "\x01\x7f"])
    def test_llama_cpp_reads_it(self, tiny_file, text):
        """llama.cpp's own parser takes the grammar, and of all bytes allows just the next one."""
        library = load_library()
        with vocabulary_only(tiny_file()) as pointer:
            ids = vocabulary_of(pointer).byte_ids()
            sampler = library.llama_sampler_init_grammar(
                pointer, gbnf(text.encode()).encode(), b"root"
            )
            assert sampler
            for byte in text.encode():
                assert _allowed(library, sampler, ids) == {byte}
                library.llama_sampler_accept(sampler, ids[byte])
            assert _allowed(library, sampler, ids) >= set(b'abc \n"')
            library.llama_sampler_free(sampler)


def _allowed(library, sampler, ids):
    """The bytes whose token a grammar allows next."""
    entry = library.llama_token_data
    data = (entry * len(ids))(*(entry(id=token, logit=0.0, p=0.0) for token in ids.values()))
    array = library.llama_token_data_array(data=data, size=len(data), selected=-1, sorted=False)
    library.llama_sampler_apply(sampler, ctypes.byref(array))
    byte_of = {token: byte for byte, token in ids.items()}
    return {byte_of[one.id] for one in data if one.logit > -1e30}


class TestWhatCanBeSaid:
    @given(st.binary(max_size=12))
    def test_whole_characters_without_nul(self, data):
        """Everything else is refused, by the question and by both languages."""
        if can_be_forced(data):
            assert data.decode().encode() == data
        else:
            for say in (gbnf, pattern):
                with pytest.raises(ValueError, match="whole characters"):
                    say(data)

    def test_examples(self):
        """Those in the docstrings hold."""
        assert doctest.testmod(literal).failed == 0
