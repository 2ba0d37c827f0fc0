"""A page in Chromium without a window."""

import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def chromium(file: Path, *options: str) -> bytes:
    """What Chromium prints about a page; it keeps its own files beside that of the page."""
    command = [CHROMIUM or "chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    home = f"--user-data-dir={file.parent / 'profile'}"
    arguments = [*command, home, "--hide-scrollbars", *options, file.as_uri()]
    return subprocess.run(arguments, check=True, capture_output=True, timeout=120).stdout


def take_picture(
    file: Path, picture: Path, width: int, height: int, *options: str, dark: bool = False
) -> None:
    """A picture of a page's top."""
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    size = f"--window-size={width},{height}"
    chromium(file, scheme, size, *options, f"--screenshot={picture}")
