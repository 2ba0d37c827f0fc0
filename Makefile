# Two commands do everything: `make demo` and `make test`. Both may be repeated; done work is kept.
PYTHON ?= python3
BIN := .venv/bin
MODEL := qwen2.5-coder-0.5b

# A portable CPU build of llama.cpp without its programs. README.md tells the flags for GPUs.
export CMAKE_ARGS ?= -DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF
# Idle OpenMP threads sleep: on a shared machine busy waiting costs several times the work itself.
export OMP_WAIT_POLICY := passive

.PHONY: demo test test-grammars test-editors test-vscode test-vulkan check-vscode vscode check dist fuzz soak lock format model clean

demo: .venv/ready model
	$(BIN)/python -m server.demo

# Neovim comes from the package index. Emacs and Helix are the installed ones, or on Debian those of
# its packages; where one can't be had either way, its tests are left out.
WITHOUT := $(if $(shell command -v emacs || command -v apt-get),,--ignore=tests/e2e/test_emacs.py) \
	$(if $(shell command -v hx || command -v apt-get),,--ignore=tests/e2e/test_helix.py)

test: .venv/ready model check
	$(BIN)/python -m pytest --ignore=tests/e2e/vscode --ignore=tests/vulkan --ignore=tests/release \
		$(WITHOUT)

# Grammars on hundreds of real files, which takes minutes. They are fetched once, from npm and (by
# apt-get) from Debian 12; what can't be had fails.
test-grammars: .venv/ready
	$(BIN)/python -m pytest tests/server/grammar -m corpus --corpus

# llama.cpp on Vulkan, in an environment of its own that takes half an hour to build. Any driver does,
# also Mesa's software driver; on Debian, with what the build needs:
# apt-get install mesa-vulkan-drivers libvulkan-dev glslc spirv-headers
test-vulkan: .venv-vulkan/ready model
	GGML_VK_VISIBLE_DEVICES=$${GGML_VK_VISIBLE_DEVICES-0} .venv-vulkan/bin/python -m pytest tests/vulkan

# The packaged extension in the real VS Code alone; Chromium must be installed.
test-vscode: check-vscode model
	$(BIN)/python -m pytest tests/e2e/vscode

# The extension's types and the tests of it that need no editor.
check-vscode: .venv/ready
	$(BIN)/python editors/vscode/build.py check

# The extension as one file, which installs without a network: editors/vscode/out/midtoken.vsix.
vscode: .venv/ready
	$(BIN)/python editors/vscode/build.py package

# Suggestions typed and accepted in real editors. Neovim, VS Code and Node.js are fetched once, and
# on Debian Emacs and Helix too where they are not installed; Chromium must be installed.
test-editors: .venv/ready model
	$(BIN)/python -m pytest tests/e2e

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/licences.py --check

# What a release gives away: the wheel, the source archive and the extension for VS Code, tested.
dist: .venv/ready
	rm -rf dist build
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python editors/vscode/build.py package
	cp editors/vscode/out/midtoken.vsix dist/midtoken-$$($(BIN)/midtoken --version | sed 's/.* //').vsix
	$(BIN)/python -m pytest tests/release
	cd dist && { sha256sum midtoken* || shasum -a 256 midtoken*; } > SHA256SUMS

# Random input for everything that reads what others write, so many minutes in all; what breaks is
# kept in .hypothesis and tried first the next time.
MINUTES ?= 10
fuzz: .venv/ready
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# People drawn at random use servers of all kinds, end them and start them again, so many minutes.
# What must hold meanwhile is in tests/soak; it is looked at all the time. Linux only.
soak: .venv/ready
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

model: .venv/ready
	$(BIN)/midtoken model pull $(MODEL) --mirror --yes

# pip would only say which package it can't find for an older Python.
OLD := midtoken needs Python 3.11 or later, and $(PYTHON) is older: name another, as in make demo PYTHON=python3.12

.venv/ready: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("$(OLD)" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	@echo "installing; llama.cpp is compiled once, which takes some minutes"
	$(call install,.venv)
	touch .venv/ready

# Into an environment: everything in the versions of requirements.txt, and only files that have a sum
# there, pip itself first. midtoken is built by the setuptools among them, whose long warning about
# folders with the names of packages says nothing of this checkout.
pinned = sed -n '/^$(1)==/,/[^\\]$$/p' requirements.txt
define install
$(call pinned,pip) > $(1)/pip.txt
$(1)/bin/python -m pip install --quiet --require-hashes --requirement $(1)/pip.txt
$(1)/bin/python -m pip install --quiet --require-hashes --requirement requirements.txt
PYTHONWARNINGS=ignore::UserWarning \
	$(1)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
$(1)/bin/python -m pip check
endef

# New versions: what pyproject.toml allows, as the package index has it today. uv is only needed here.
lock: .venv/ready
	$(PYTHON) -m venv .venv/lock
	.venv/lock/bin/python -m pip install --quiet uv
	echo pip | .venv/lock/bin/uv pip compile pyproject.toml - --extra dev --universal --upgrade \
		--python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url \
		--no-emit-find-links --quiet --output-file requirements.txt

# pip keeps wheels by version, whatever they were built for: without --no-cache-dir a build for CPUs
# would be taken for this one, or this one for that.
.venv-vulkan/ready: .venv/ready
	$(BIN)/python -m tests.vulkan.headers
	$(PYTHON) -m venv .venv-vulkan
	$(call pinned,llama-cpp-python) > .venv-vulkan/llama.txt
	CMAKE_ARGS="$(CMAKE_ARGS) -DGGML_VULKAN=ON $$($(BIN)/python -m tests.vulkan.headers)" \
		.venv-vulkan/bin/python -m pip install --quiet --no-cache-dir --no-deps --require-hashes \
		--requirement .venv-vulkan/llama.txt
	$(call install,.venv-vulkan)
	touch .venv-vulkan/ready

clean:
	rm -rf .venv .venv-vulkan build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
