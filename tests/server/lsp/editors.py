"""What editors say of themselves: the part of their `initialize` that a server can see.

Written down from what these editors' clients send; everything that has nothing to do with
completions is left out.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Editor:
    """One editor's client."""

    name: str
    encodings: tuple[str, ...] | None
    """`general.positionEncodings`; None where the client says nothing of it."""
    chosen: str
    """The encoding that has to come out."""
    inline: bool = False
    """Whether it knows `textDocument/inlineCompletion`."""
    configuration: bool = False
    """Whether it answers `workspace/configuration`."""
    item: dict[str, Any] = field(default_factory=dict)
    """`textDocument.completion.completionItem`."""

    def initialize(self, options: Any = None) -> dict[str, Any]:
        """Its parameters of `initialize`, with these `initializationOptions`."""
        document: dict[str, Any] = {
            "synchronization": {"didSave": True, "willSave": True},
            "completion": {"completionItem": self.item, "contextSupport": True},
        }
        if self.inline:
            document["inlineCompletion"] = {"dynamicRegistration": False}
        capabilities: dict[str, Any] = {
            "textDocument": document,
            "workspace": {"configuration": self.configuration},
            "window": {"workDoneProgress": True},
        }
        if self.encodings is not None:
            capabilities["general"] = {"positionEncodings": list(self.encodings)}
        return {
            "processId": None,
            "clientInfo": {"name": self.name, "version": "1"},
            "rootUri": None,
            "workspaceFolders": None,
            "capabilities": capabilities,
            "initializationOptions": options,
        }


_SNIPPETS = {"snippetSupport": True, "insertReplaceSupport": True, "preselectSupport": True}

VSCODE = Editor("Visual Studio Code", ("utf-16",), "utf-16", True, True, _SNIPPETS)
NEOVIM_11 = Editor("Neovim", ("utf-8", "utf-16", "utf-32"), "utf-8", False, True, _SNIPPETS)
NEOVIM_12 = Editor("Neovim", ("utf-8", "utf-16", "utf-32"), "utf-8", True, True, _SNIPPETS)
NVIM_CMP = Editor(
    "Neovim",
    ("utf-8", "utf-16", "utf-32"),
    "utf-8",
    False,
    True,
    {
        **_SNIPPETS,
        "commitCharactersSupport": True,
        "deprecatedSupport": True,
        "tagSupport": {"valueSet": [1]},
        "resolveSupport": {"properties": ["documentation", "detail", "additionalTextEdits"]},
        "insertTextModeSupport": {"valueSet": [1, 2]},
        "labelDetailsSupport": True,
    },
)
"""Neovim 0.11 with nvim-cmp, from what `cmp_nvim_lsp.default_capabilities` says."""
BLINK_CMP = Editor(
    "Neovim",
    ("utf-8", "utf-16", "utf-32"),
    "utf-8",
    False,
    True,
    {
        "snippetSupport": True,
        "commitCharactersSupport": False,
        "documentationFormat": ["markdown", "plaintext"],
        "deprecatedSupport": True,
        "preselectSupport": False,
        "tagSupport": {"valueSet": [1]},
        "insertReplaceSupport": True,
        "resolveSupport": {"properties": ["documentation", "detail", "additionalTextEdits"]},
        "insertTextModeSupport": {"valueSet": [1]},
        "labelDetailsSupport": True,
    },
)
"""Neovim 0.11 with blink.cmp, from what its `get_lsp_capabilities` says."""
EGLOT = Editor("Eglot", ("utf-32", "utf-8", "utf-16"), "utf-32", False, True)
HELIX = Editor("helix", ("utf-8", "utf-32", "utf-16"), "utf-8", False, True, _SNIPPETS)
OLD = Editor("an old client", None, "utf-16")

EDITORS = (VSCODE, NEOVIM_11, NEOVIM_12, NVIM_CMP, BLINK_CMP, EGLOT, HELIX, OLD)
BY_ENCODING = (VSCODE, NEOVIM_12, EGLOT)
"""One editor for each encoding."""


def editor_id(editor: Editor) -> str:
    """A name for test reports."""
    return f"{editor.name.split()[-1].lower()}-{'inline' if editor.inline else 'menu'}"
