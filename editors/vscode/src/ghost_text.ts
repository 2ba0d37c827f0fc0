/** Requests for ghost text on their way from the editor to the server. */
import { setTimeout as pause } from "node:timers/promises";
import {
  type CancellationToken,
  CancellationTokenSource,
  commands,
  type InlineCompletionContext,
  type InlineCompletionItem,
  type InlineCompletionList,
  InlineCompletionTriggerKind as Kind,
  type LogOutputChannel,
  type Position,
  type TextDocument,
  window,
} from "vscode";
import { Again, type Editor, type Place } from "./again.ts";

/** VS Code cancels at each key, and tells what was typed a moment later, if the machine is busy. */
const PAUSE_MS = 100;

/**
 * VS Code gives up 750 ms after a key. A busy machine takes a part of that to ask us, and some more to
 * tell us: an answer that takes so long may cross that. (No others, for screen readers are told anew.)
 */
const [CROSSES_FROM_MS, CROSSES_UNTIL_MS] = [300, 1500];

type Found = InlineCompletionItem[] | InlineCompletionList | null | undefined;

type Next = (
  document: TextDocument,
  position: Position,
  context: InlineCompletionContext,
  token: CancellationToken,
) => PromiseLike<Found> | Found;

const ASK = "editor.action.inlineSuggest.trigger";

export class GhostText {
  private readonly again: Again;

  constructor(log: LogOutputChannel) {
    const editor: Editor = {
      place: () => {
        const active = window.activeTextEditor;
        return active && placeOf(active.document, active.selection.active);
      },
      isFocused: () => window.state.focused,
      // Editors that do not know the argument ask explicitly.
      ask: (explicit) =>
        commands
          .executeCommand(ASK, { explicit })
          .then(undefined, (error) => log.warn(`asking again for ghost text: ${error}`)),
      pause: () => pause(PAUSE_MS),
    };
    this.again = new Again(editor);
  }

  /** The server tells whether it has a model. */
  modelIs(ready: boolean): void {
    void this.again.modelIs(ready);
  }

  /**
   * The server's answer.
   *
   * That the editor drops the request is told to the server when it is clear that it is not made
   * again: until then the model goes on, and the second request gets what the first one began.
   */
  async ask(
    document: TextDocument,
    position: Position,
    context: InlineCompletionContext,
    token: CancellationToken,
    next: Next,
  ): Promise<Found> {
    const { again } = this;
    const wish = again.asked(placeOf(document, position), context.triggerKind === Kind.Invoke);
    const triggerKind = wish.explicit ? Kind.Invoke : Kind.Automatic;
    const told = new CancellationTokenSource();
    const listening = token.onCancellationRequested(() =>
      void again.unseen(wish).finally(() => told.cancel()),
    );
    const [wasReady, began] = [again.isReady, performance.now()];
    try {
      const found = await next(document, position, { ...context, triggerKind }, told.token);
      if (!token.isCancellationRequested) {
        if (!isEmpty(found)) {
          const took = performance.now() - began;
          if (CROSSES_FROM_MS < took && took < CROSSES_UNTIL_MS) {
            void again.unseen(wish);
          }
        } else if (!wasReady) {
          void again.missed(wish);
        }
      }
      return found;
    } finally {
      listening.dispose();
    }
  }
}

function placeOf(document: TextDocument, { line, character }: Position): Place {
  return { document: document.uri.toString(), version: document.version, line, character };
}

function isEmpty(found: Found): boolean {
  return !found || ("items" in found ? found.items : found).length === 0;
}
