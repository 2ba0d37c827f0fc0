"""Random JSON: values, ways to write them, schemas with a value that they allow; what fits them."""

import json
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from server.grammar.json_schema import compile_schema
from server.grammar.state import Template, compile_grammar

names = st.sampled_from(["a", "b", "ab", "name", "ä", "x/y", 'q"', "", "😀", "a b"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | names
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


def allowed(template: Template, text: bytes) -> tuple[set[int], bool] | None:
    """The bytes that may follow a text, and whether it may end; None if the text does not fit."""
    state = template.state()
    if state.feed(text) < len(text):
        return None
    return {byte for byte in range(256) if state.check(bytes([byte]))}, state.accepting


def fits(template: Template, text: bytes) -> bool:
    """Whether a text is a whole document."""
    state = template.state()
    return state.feed(text) == len(text) and state.accepting


def template(schema: object, comments: bool = False, escapes: bool = True) -> Template:
    """The grammar of the documents that a schema allows; what is optional is `compile_schema`'s."""
    text = json.dumps(schema).encode()
    return compile_grammar("x", compile_schema("x", text, comments, escapes).lark)


def accepted_part(schema: object, text: str) -> str:
    """The part of a text that a schema accepts; the text itself if that is all of it."""
    state = template(schema).state()
    return text.encode()[: state.feed(text.encode())].decode("utf-8", "replace")


def written(value: object, random: Random, comments: bool = False, escapes: bool = True) -> bytes:
    """A value with random blanks, order of members, and escapes and comments if wanted."""

    def gap() -> str:
        kinds = ["", "", "", " ", "\n\t"] + (["// it's {\n", '/* [," */'] if comments else [])
        return random.choice(kinds)

    def string(text: str) -> str:
        plain = json.dumps(text, ensure_ascii=escapes and random.random() < 0.5)
        if not escapes or random.random() < 0.8:
            return plain
        units = text.encode("utf-16-be", "surrogatepass").hex()
        parts = (units[at : at + 4] for at in range(0, len(units), 4))
        return '"' + "".join(rf"\u{part}" for part in parts) + '"'

    def closing(parts: list[str], bracket: str) -> str:
        trailing = "," if comments and parts and random.random() < 0.3 else ""
        return ",".join(parts) + trailing + gap() + bracket

    def write(one: object) -> str:
        if isinstance(one, dict):
            members = list(one.items())
            random.shuffle(members)
            parts = [
                f"{gap()}{string(name)}{gap()}:{gap()}{write(part)}{gap()}"
                for name, part in members
            ]
            return "{" + closing(parts, "}")
        if isinstance(one, list):
            return "[" + closing([gap() + write(part) + gap() for part in one], "]")
        return string(one) if isinstance(one, str) else json.dumps(one)

    text = gap() + write(value) + gap()
    return text.encode("utf-8", "surrogatepass" if "\\u" in text else "strict")


@st.composite
def schemas(draw: st.DrawFn, depth: int = 0) -> tuple[object, object]:
    """A schema, and a value that it allows."""
    kinds = ["scalar", "enum", "string", "number", "any"]
    kinds += ["object", "object", "array", "tuple", "anyOf", "allOf"] if depth < 3 else []
    match draw(st.sampled_from(kinds)):
        case "scalar":
            kind, one = draw(st.sampled_from([("null", st.none()), ("boolean", st.booleans())]))
            return {"type": kind}, draw(one)
        case "enum":
            known = draw(st.lists(values, min_size=1, max_size=4))
            return {"enum": known}, draw(st.sampled_from(known))
        case "string":
            text = draw(st.text("abcä /", max_size=6))
            return {"type": "string", "minLength": len(text), "maxLength": len(text) + 1}, text
        case "number":
            number = draw(st.integers(0, 10**6))
            return {"type": ["integer", "null"], "minimum": 0}, number
        case "object":
            return draw(_objects(depth))
        case "array":
            schema, one = draw(schemas(depth + 1))
            count = draw(st.integers(0, 3))
            return {"type": "array", "items": schema, "maxItems": 3}, [one] * count
        case "tuple":
            pairs = draw(st.lists(schemas(depth + 1), max_size=3))
            first = [schema for schema, _ in pairs]
            return {"prefixItems": first, "items": False}, [one for _, one in pairs]
        case "anyOf":
            pairs = draw(st.lists(schemas(depth + 1), min_size=1, max_size=3))
            return {"anyOf": [schema for schema, _ in pairs]}, draw(st.sampled_from(pairs))[1]
        case "allOf":
            schema, one = draw(schemas(depth + 1))
            return {"allOf": [schema, True, {"description": "x"}]}, one
        case _:
            return draw(st.sampled_from([True, {}, {"$ref": "http://x/y"}])), draw(values)


@st.composite
def _objects(draw: st.DrawFn, depth: int) -> tuple[object, object]:
    pairs = draw(st.dictionaries(names, schemas(depth + 1), max_size=4))
    given_names = draw(st.sets(st.sampled_from(sorted(pairs)))) if pairs else set()
    required = draw(st.sets(st.sampled_from(sorted(given_names)))) if given_names else set()
    value = {name: one for name, (_, one) in pairs.items() if name in given_names}
    schema: dict[str, object] = {
        "type": "object",
        "properties": {name: one for name, (one, _) in pairs.items()},
        "required": sorted(required),
    }
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    else:
        others, other = draw(schemas(depth + 1))
        schema["additionalProperties"] = others
        value |= {"other": other} if draw(st.booleans()) else {}
    return schema, value


def json_text(path: Path) -> bytes | None:
    r"""A file of JSON in UTF-8 with `\n` line ends; None if Python does not read it."""
    try:
        text = path.read_text("utf-8")
        json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return text.encode()


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
