/**
 * Asking a second time for ghost text that the editor has given up on.
 *
 * With its own settings VS Code (seen in 1.139) waits 750 ms after a key, then drops its request and
 * opens the completion list instead. Where that list is empty it shows nothing and never asks again,
 * until the next key. So a request that came by itself and is dropped at a place where nothing has
 * changed is made again, once; and so is one that was answered with nothing because no model was
 * loaded yet. One that a person has made is dropped by that person, with Escape: it stays dropped.
 *
 * An answer may cross the news that the editor has given up: then it is not shown, and nobody is told
 * that it is not. So the editor is told to ask again after an answer at about that time as well. Where
 * that is shown, it has no need to ask.
 */

export interface Place {
  document: string;
  version: number;
  line: number;
  character: number;
}

/** A request for ghost text. */
export interface Wish {
  place: Place;
  /** Whether a person has asked for it, by a key or a command. */
  explicit: boolean;
  /** Whether the window had the focus then, as far as is known. */
  focused: boolean;
}

export interface Editor {
  /** Where the cursor is in the active editor; undefined if there is none. */
  place(): Place | undefined;
  /** Whether the window has the focus, as far as is known. */
  isFocused(): boolean;
  /** Have the editor ask now. Ends when it has its answer. */
  ask(explicit: boolean): PromiseLike<unknown>;
  /** The moment in which a change, a move of the cursor or another request would be told. */
  pause(): Promise<void>;
}

export class Again {
  private readonly editor: Editor;
  private newest: Wish | undefined;
  /** Asked again now, on our account. */
  private repeated: Wish | undefined;
  /** Where a request was really made again last: told to ask, an editor need not. */
  private repeatedAt: Place | undefined;
  /** Answered with nothing, for want of a model. */
  private unanswered: Wish | undefined;
  private ready = false;

  constructor(editor: Editor) {
    this.editor = editor;
  }

  /** The editor asks. What it asks on our account is as explicit as the request was at first. */
  asked(place: Place, explicit: boolean): Wish {
    const first = isSame(this.repeated?.place, place) ? this.repeated : undefined;
    if (first) {
      this.repeatedAt = place;
    }
    const wish = {
      place,
      explicit: first ? first.explicit : explicit,
      focused: this.editor.isFocused(),
    };
    this.newest = wish;
    this.unanswered = undefined;
    return wish;
  }

  /**
   * The editor waits for it no more, or was answered at a time when it may have given up just now.
   * Ends when the server may be told that nobody waits.
   */
  async unseen(wish: Wish): Promise<void> {
    await this.editor.pause();
    if (!wish.explicit && this.isWanted(wish) && !isSame(this.repeatedAt, wish.place)) {
      await this.repeat(wish, false);
    }
  }

  /** Answered with nothing by a server that had no model when it was asked. */
  async missed(wish: Wish): Promise<void> {
    this.unanswered = this.newest === wish ? wish : undefined;
    await this.makeUp();
  }

  get isReady(): boolean {
    return this.ready;
  }

  /** The server tells whether it has a model. */
  async modelIs(ready: boolean): Promise<void> {
    this.ready = ready;
    await this.makeUp();
  }

  private async makeUp(): Promise<void> {
    const wish = this.unanswered;
    if (this.ready && wish) {
      this.unanswered = undefined;
      if (this.isWanted(wish)) {
        // The editor has an answer for this place: only an explicit request makes it ask again.
        await this.repeat(wish, true);
      }
    }
  }

  private isWanted(wish: Wish): boolean {
    // Editors ask by themselves only where somebody types: one that calls its window unfocused even
    // then does not know, and has not lost the focus since.
    const isLookedAt = this.editor.isFocused() || !wish.focused;
    return wish === this.newest && isLookedAt && isSame(this.editor.place(), wish.place);
  }

  private async repeat(wish: Wish, explicit: boolean): Promise<void> {
    this.repeated = wish;
    try {
      await this.editor.ask(explicit);
    } finally {
      if (this.repeated === wish) {
        this.repeated = undefined;
      }
    }
  }
}

function isSame(one: Place | undefined, other: Place | undefined): boolean {
  return (
    one?.document === other?.document &&
    one?.version === other?.version &&
    one?.line === other?.line &&
    one?.character === other?.character
  );
}
