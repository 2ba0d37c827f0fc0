"""What a run has found, as a table for people and as JSON."""

from statistics import median
from typing import Any

from tests.soak import levels
from tests.soak.run import Run, Watched

MIB = 1 << 20


def as_json(run: Run) -> dict[str, Any]:
    """All figures."""
    counts = run.counts
    return {
        "seed": run.plan.seed,
        "minutes": round(run.plan.seconds / 60, 3),
        "model": "tiny" if len(run.plan.models) > 1 else str(run.plan.models[0]),
        "sessions": run.sessions,
        "messages": counts.messages,
        "requests": {
            method: {
                "asked": asked,
                "answered": counts.answered[method],
                "median_ms": _ms(median(counts.seconds[method])),
                "most_ms": _ms(max(counts.seconds[method])),
            }
            for method, asked in sorted(counts.asked.items())
            if counts.seconds.get(method)
        },
        "cancelled": counts.cancelled,
        "void": counts.void,
        "parts": counts.parts,
        "servers": {kind: _server(run, watched) for kind, watched in run.watched.items()},
        "faults": [
            {"seconds": round(at, 3), "fault": fault, "before": before}
            for at, fault, before in run.faults
        ],
        "all_faults": run.all_faults,
    }


def as_table(run: Run) -> str:
    """The same for people; what is wrong comes last, with what was done before."""
    found = as_json(run)
    total = sum(one["asked"] for one in found["requests"].values())
    lines = [
        f"{found['minutes']:g} minutes, seed {found['seed']}, model {found['model']}:",
        f"{found['sessions']} sessions, {found['messages']} messages, {total} requests",
        f"({found['cancelled']} refused as cancelled, {found['void']} lost with their connection)",
        "",
        f"{'request':<32}{'asked':>8}{'answered':>10}{'median':>10}{'most':>12}",
    ]
    for method, one in found["requests"].items():
        shown = f"{one['median_ms']} ms", f"{one['most_ms']} ms"
        asked, answered = one["asked"], one["answered"]
        lines.append(f"{method:<32}{asked:>8}{answered:>10}{shown[0]:>10}{shown[1]:>12}")
    head = f"{'server':<10}{'starts':>7}{'memory, MiB':>18}{'growth':>9}{'threads':>9}{'files':>7}"
    lines += ["", head]
    for kind, one in found["servers"].items():
        memory = f"{one['first_mib']} to {one['last_mib']}"
        rest = one["at_rest"][-1] if one["at_rest"] else {"threads": "-", "files": "-"}
        lines.append(
            f"{kind:<10}{one['starts']:>7}{memory:>18}{one['growth_mib']:>9}"
            f"{rest['threads']:>9}{rest['files']:>7}   {one['ends']}"
        )
    lines += ["", f"{found['all_faults']} faults"]
    for one in found["faults"]:
        lines += ["", f"after {one['seconds']} s: {one['fault']}"]
        lines += [f"    {line}" for line in one["before"][-20:]]
    return "\n".join(lines)


def _server(run: Run, watched: Watched) -> dict[str, Any]:
    warm = run.warm_samples(watched)
    return {
        "starts": watched.server.starts,
        "ends": watched.server.ends,
        "first_mib": round(warm[0][1] / MIB, 1) if warm else None,
        "last_mib": round(warm[-1][1] / MIB, 1) if warm else None,
        "growth_mib": round(levels.growth(warm) / MIB, 2),
        "at_rest": [
            {
                "seconds": round(rest.at),
                "mib": round(rest.memory / MIB, 1),
                "in_use_mib": round(rest.in_use.given / MIB, 1) if rest.in_use else None,
                "python_pieces": rest.in_use.pieces if rest.in_use else None,
                "threads": rest.threads,
                "pool_threads": rest.in_use.pool if rest.in_use else None,
                "files": len(rest.files),
            }
            for rest in watched.rests
        ],
        "samples": [[round(at), size] for at, size in warm[:: max(1, len(warm) // 200)]],
    }


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 1)
