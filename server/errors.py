"""Errors that a person reads: one line that says what went wrong, where, and what to do."""


class MidtokenError(Exception):
    """Anything that ends a request with a message instead of a suggestion (exit code 1)."""


class UsageError(MidtokenError):
    """The command line itself is wrong, whatever is on the disk (exit code 2)."""


class NoEditorError(UsageError):
    """What comes over standard input of a language server are no messages."""

    def __init__(self) -> None:
        super().__init__(
            "standard input does not speak the Language Server Protocol: editors start `midtoken "
            "serve` by themselves; `midtoken complete` is for people"
        )


class DocumentError(MidtokenError):
    """The text to complete cannot be read, or has no such position."""


class ModelError(MidtokenError):
    """A model file is missing, damaged or of a kind that cannot be used."""


class UnknownVocabularyError(ModelError):
    """A model file's vocabulary is of a kind that our own reader does not know."""


class EngineError(MidtokenError):
    """The model cannot be run: no memory, a failed backend, a context that is too small."""


class RemoteError(EngineError):
    """An engine on another machine refuses, fails or is not there."""

    def __init__(self, message: str, status: int | None = None, rest_s: float = 0.0) -> None:
        """Take a message.

        Args:
            message: For people.
            status: The HTTP status, where there was an answer.
            rest_s: So many seconds it does not want to be asked.
        """
        super().__init__(message)
        self.status, self.rest_s = status, rest_s


class GrammarError(MidtokenError):
    """A grammar or schema cannot be compiled, or cannot be used on a text."""


class AttachedGrammarError(GrammarError):
    """A grammar that a person named in their settings is wrong, which they should be told."""


class DownloadError(MidtokenError):
    """A model could not be fetched or is not what it should be."""


class Cancelled(MidtokenError):
    """The request was cancelled before it was finished; nothing is wrong."""
