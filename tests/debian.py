"""Debian's packages, unpacked beside the system: no root, and nothing of the system is changed."""

import shutil
from pathlib import Path
from typing import Literal

import pytest

from tests.fetching import run


def codename() -> str:
    """This Debian's code name; empty on other systems."""
    lines = Path("/etc/os-release").read_text().splitlines()
    release = dict(line.split("=", 1) for line in lines if "=" in line)
    debian = release.get("ID") == "debian"
    return release.get("VERSION_CODENAME", "").strip('"') if debian else ""


def unpack(
    folder: Path,
    package: str,
    suites: tuple[str, ...],
    name: str,
    needs: Literal["missing", "everything", "nothing"] = "missing",
) -> None:
    """Unpack a Debian package and what it needs.

    Args:
        folder: Where to.
        package: The package, taken from the last of the suites.
        suites: Debian's suites to look in.
        name: What to tell people to install where this can't be done.
        needs: Of what it needs, fetch what the system lacks, or also what it has already, down to
            the C library, or nothing.
    """
    places = run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"]).splitlines()
    mirror = next((line.split()[1] for line in places if line.split()[0] == codename()), None)
    if mirror is None:
        pytest.fail(f"{name} or newer is needed: install it, try again")
    downloads = folder / "apt"
    for part in ("lists/partial", "archives/partial"):
        (downloads / part).mkdir(parents=True)
    keys = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keys}] " if keys.is_file() else ""
    sources = downloads / "sources.list"
    sources.write_text("".join(f"deb {signed}{mirror} {suite} main\n" for suite in suites))
    settings = downloads / "apt.conf"
    settings.write_text(
        f'Dir::Etc::sourcelist "{sources}"; Dir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State::lists "{downloads}/lists"; Dir::Cache "{downloads}";\n'
        'Acquire::Languages "none"; APT::Sandbox::User "root"; Debug::NoLocking "1";\n'
    )
    if needs == "everything":
        (downloads / "status").touch()
        with settings.open("a") as file:
            file.write(f'Dir::State::status "{downloads}/status";\n')
    run(["apt-get", "update", "--quiet"], APT_CONFIG=str(settings))
    fetch = "apt-get install --quiet --download-only --yes --no-install-recommends --reinstall"
    if needs == "nothing":
        fetch = "apt-get download --quiet"
    archives = downloads / "archives"
    run([*fetch.split(), "-t", suites[-1], package], archives, APT_CONFIG=str(settings))
    for archive in archives.glob("*.deb"):
        run(["dpkg-deb", "--extract", str(archive), str(folder)])
    shutil.rmtree(downloads)
