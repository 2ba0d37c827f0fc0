"""The figures of `midtoken bench engine` as Markdown. What is not here: how they were measured."""

from collections.abc import Mapping
from typing import Any

from server.bench.engine import keystrokes, steps
from server.bench.heal.tables import table
from server.models.files import megabytes

JSON = Mapping[str, Any]


def markdown(report: JSON) -> str:
    """All tables, with a line of words before each."""
    figures = report["figures"]
    sections = [
        _heading(report),
        _speed(figures),
        _steps(figures["steps"]),
        _parts(figures["steps"]),
        _batches(figures["batches"]["sizes"]),
        _covers(figures["batches"]["covers"]),
        _several(figures["several"]),
        _memory(figures["memory"]),
        _keystrokes(figures["keystrokes"]),
    ]
    if "vocabularies" in figures:
        sections.append(_vocabularies(figures["vocabularies"]))
    return "\n\n".join(sections) + "\n"


def _heading(report: JSON) -> str:
    settings, machine = report["settings"], report["machine"]
    return (
        f"{settings['model']}, context {settings['context_size']:,}, seed {settings['seed']}; "
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"llama-cpp-python {machine['llama_cpp_python']}"
    )


def _speed(figures: JSON) -> str:
    speed, peer = figures["speed"], figures.get("llama_bench")
    rows = [
        ["llama.cpp, bare loop", *(_mean(speed[what]["bare"]) for what in ("reading", "writing"))],
        ["midtoken's engine", *(_mean(speed[what]["engine"]) for what in ("reading", "writing"))],
        [
            "share of the bare loop, turn by turn (least to most)",
            *(_share(speed[what]) for what in ("reading", "writing")),
        ],
    ]
    if peer:
        name = f"llama-bench {peer['build']} ({peer['backends']})"
        rows.append([name, _mean(peer["reading"]), _mean(peer["writing"])])
    return (
        f"Tokens a second: a prompt of {speed['prompt_tokens']} tokens in batches of "
        f"{speed['micro_batch']}, and {speed['written_tokens']} tokens one by one; mean ± standard "
        f"deviation of {speed['reading']['bare']['count']}, in turns.\n\n"
        + table(["", "reading", "writing"], rows)
    )


def _steps(figures: JSON) -> str:
    rows = [
        [
            name,
            _pair(figures[key]["ours_us"]),
            _pair(figures[key]["work_us"]),
            _pair(figures[key]["model_us"]),
            f"{100 * figures[key]['share']:.2f} %",
        ]
        for key, name in (("grammar", "with the grammar"), ("no_grammar", "without"))
    ]
    headings = ["median (p99), µs", "ours", "ours, processor time", "the model's pass", "share"]
    return (
        f"A step of writing, {figures['grammar']['ours_us']['count']} of each; ours is all but the "
        "model's pass. Confidence is always on.\n\n"
        + table(headings, rows)
        + "\n\nWith the grammar, beside a model that takes no time and leaves the caches alone: "
        f"{_pair(figures['warm_us'])} µs without the engine."
    )


def _parts(figures: JSON) -> str:
    rows = [
        [
            name,
            *(_pair(figures[key]["parts_us"][name]) for key in ("grammar", "no_grammar")),
        ]
        for name in steps.NAMES
    ]
    return (
        "Where it goes (each part also holds the clock of those that it calls, "
        f"{figures['clock_us_a_call']:.1f} µs a call).\n\n"
        + table(["median (p99), µs", "with the grammar", "without"], rows)
    )


def _batches(sizes: JSON) -> str:
    rows = [
        [
            size,
            *(f"{found[f'{way}_ms']['median']:.1f}" for way in ("steps", "chain", "tree")),
            f"{found['chain_gain']:.2f}",
            f"{found['tree_gain']:.2f}",
        ]
        for size, found in sizes.items()
    ]
    headings = ["tokens", "one by one, ms", "a chain, ms", "a tree, ms"]
    return "Several tokens in one batch, medians.\n\n" + table(
        [*headings, "gain of the chain", "of the tree"], rows
    )


def _covers(covers: JSON) -> str:
    return (
        f"{covers['nodes']['count']} covering trees of real places with more than one path "
        f"({covers['nodes']['mean']:.1f} nodes and {covers['paths_a_tree']:.1f} paths in the "
        f"mean): {covers['tree_ms']['median']:.0f} ms as a tree, "
        f"{covers['paths_ms']['median']:.0f} ms path by path in the median, "
        f"{covers['tree_gain']:.2f} times as fast."
    )


def _several(counts: JSON) -> str:
    rows = [
        [
            count,
            f"{found['together']['texts']['mean']:.1f}",
            f"{found['together']['passes']['mean']:.1f}",
            f"{found['together']['tokens']['mean']:.1f}",
            f"{found['together']['ms']['mean']:.0f}",
            f"{found['to_one']:.2f}",
            f"{found['apart']['ms']['mean']:.0f}",
            f"{found['gain']:.2f}",
        ]
        for count, found in counts.items()
    ]
    headings = ["asked for", "found", "passes", "tokens", "ms", "to one", "one by one, ms", "gain"]
    return (
        f"Several continuations of {counts['1']['together']['ms']['count']} places that have been "
        "read, means.\n\n" + table(headings, rows)
    )


def _memory(memory: JSON) -> str:
    rows = [[f"llama.cpp: {one['kind']}, {one['where']}", megabytes(one["bytes"])]
            for one in memory["buffers"]]  # fmt: skip
    rows += [[f"tables: {name}", megabytes(size)] for name, size in memory["tables"].items()]
    for name in ("resident", "pss", "anonymous"):
        before, after = (memory[when][name] for when in ("before", "after"))
        if after is not None:
            rows.append([f"process: {name}, before loading", megabytes(before)])
            rows.append([f"process: {name}, at work", megabytes(after)])
    return "Memory.\n\n" + table(["", "bytes"], rows)


def _keystrokes(sizes: JSON) -> str:
    rows = [
        [
            megabytes(found["bytes"]) if found["bytes"] >= 10**6 else f"{found['bytes']:,} B",
            _pair(found["key_ms"]),
            f"{found['first_ms']:.1f}",
            *(f"{found['parts_ms'][name]:.2f}" for name in keystrokes.NAMES),
        ]
        for found in sizes.values()
    ]
    return (
        "A keystroke without the model, in files of growing size: processor time in ms, medians "
        "(p99).\n\n" + table(["file", "key", "first key", *keystrokes.NAMES], rows)
    )


def _vocabularies(sizes: JSON) -> str:
    rows = [
        [
            f"{int(size):,}",
            f"{found['order_ms']:.0f}",
            f"{found['merges_ms']:.0f}",
            _pair(found["tree_ms"], 2),
            _pair(found["choice_ms"], 3),
            megabytes(found["memory_bytes"]),
        ]
        for size, found in sizes.items()
    ]
    headings = ["tokens", "byte order, once", "merges, once", "covering tree", "choice", "memory"]
    return "Vocabularies of growing size: ms, medians (p99).\n\n" + table(headings, rows)


def _share(speeds: JSON) -> str:
    """Our speed as a share of the bare loop's: the median of the turns, the least and the most.

    >>> _share({"engine_to_bare": 0.98, "engine_to_bare_ends": [0.91, 1.02]})
    '98 % (91 to 102)'
    """
    low, high = speeds["engine_to_bare_ends"]
    return f"{100 * speeds['engine_to_bare']:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def _mean(values: JSON) -> str:
    """A mean with its standard deviation.

    >>> _mean({"mean": 30.12, "sd": 0.28})
    '30.1 ± 0.3'
    """
    return f"{values['mean']:.1f} ± {values['sd']:.1f}"


def _pair(values: JSON, digits: int | None = None) -> str:
    """A median, with the 99th percentile in brackets.

    >>> _pair({"median": 480.2, "p99": 1203.4}), _pair({"median": 0.12, "p99": 0.3}, 2)
    ('480 (1203)', '0.12 (0.30)')
    """
    places = digits if digits is not None else 0 if values["median"] >= 100 else 1
    return f"{values['median']:.{places}f} ({values['p99']:.{places}f})"
