"""What the tests on Vulkan need: a build for it, and a device. Without them all of them fail."""

import os
import platform
from importlib.metadata import version

import pytest

from server.engine.llama_gpu import Device, built_for, devices
from tests.conftest import REPORT


@pytest.fixture(scope="session", autouse=True)
def device(request: pytest.FixtureRequest) -> Device:
    """The device that everything runs on; what it is, is printed after the run."""
    if "Vulkan" not in built_for():
        pytest.fail("llama.cpp is not built for Vulkan: run `make test-vulkan`", pytrace=False)
    found = devices()
    if not found:
        pytest.fail(
            "there is no Vulkan device: install a driver (on Debian: mesa-vulkan-drivers); a "
            "software driver must be chosen with GGML_VK_VISIBLE_DEVICES=0",
            pytrace=False,
        )
    versions = f"llama-cpp-python {version('llama-cpp-python')}, Python {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    lines = request.config.stash.setdefault(REPORT, [])
    lines += [f"{found[0].name}: {found[0].description}", f"{versions}, {machine}"]
    return found[0]


@pytest.fixture(scope="session")
def name(device: Device) -> str:
    """What a report calls the device."""
    return f"{device.name}: {device.description}"
