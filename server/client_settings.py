"""The settings of an editor, asked for when it is there and when it says that they have changed.

Not here: what they mean (`option_layers`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from lsprotocol import types
from pygls.lsp.server import LanguageServer

logger = logging.getLogger("midtoken.server")

SETTINGS_PATIENCE_S = 2.0
"""So long the model waits for the editor's settings, which may name another one."""


async def use_settings(
    server: LanguageServer, apply: Callable[[object], None], start: Callable[[], Awaitable[None]]
) -> None:
    """Ask the client for its settings and load the model that they name.

    A client that does not answer can't keep the model from being loaded; a late answer counts.

    Args:
        server: The connection.
        apply: Takes the settings over; is not called if the client gives none.
        start: Loads the model that the settings name, as far as they are known.
    """
    asking = asyncio.ensure_future(_ask(server, apply))
    await asyncio.wait({asking}, timeout=SETTINGS_PATIENCE_S)
    while True:
        await start()
        if asking.done():
            return
        await asking


async def _ask(server: LanguageServer, apply: Callable[[object], None]) -> None:
    workspace = server.client_capabilities.workspace
    if workspace is None or not workspace.configuration:
        return
    items = [types.ConfigurationItem(section="midtoken")]
    try:
        found = await server.workspace_configuration_async(types.ConfigurationParams(items))
    except Exception as error:
        logger.warning("the editor did not give its settings: %s", error)
        return
    apply(found[0] if found else None)
