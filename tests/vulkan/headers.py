"""What a build of llama.cpp for Vulkan needs, and newer headers where the system's are too old.

llama.cpp names types that headers before 1.3.272 lack, and Debian 12 has 1.3.239. There the headers
of Debian 13 are unpacked beside the system; a program asks its driver what it can do, so that newer
headers go with an older driver.

`python -m tests.vulkan.headers` prints the option for CMake that the build needs; nothing is fine.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.debian import unpack
from tests.fetching import fetched

VERSION = 272
"""The first version of the headers, 1.3.272, with the types that llama.cpp names."""
PACKAGES = "mesa-vulkan-drivers libvulkan-dev glslc spirv-headers"


def option() -> str:
    """The option for CMake; fails with what to do where something is missing."""
    sdk = os.environ.get("VULKAN_SDK", "/usr")
    header = Path(sdk, "include", "vulkan", "vulkan_core.h")
    if not header.is_file() or shutil.which("glslc") is None:
        pytest.fail(
            "Vulkan's headers and glslc are needed: set VULKAN_SDK, or on Debian run "
            f"`apt-get install {PACKAGES}`"
        )
    if version(header) >= VERSION:
        return ""
    folder = fetched("midtoken-tests", "vulkan-headers", _unpack)
    return f"-DVulkan_INCLUDE_DIR={folder / 'usr' / 'include'}"


def version(header: Path) -> int:
    """The number that grows with every release of the headers."""
    text = header.read_text(encoding="utf-8")
    match = re.search(r"^#define VK_HEADER_VERSION (\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0


def _unpack(folder: Path) -> None:
    unpack(folder, "libvulkan-dev", ("trixie",), "Vulkan's headers 1.3.272", needs="nothing")


if __name__ == "__main__":
    try:
        print(option())
    except pytest.fail.Exception as problem:
        sys.exit(f"vulkan: {problem}")
