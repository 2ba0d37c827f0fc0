/** Which suggestions are counted as shown: one that is typed along stays the same suggestion. */

export class Offers {
  /** For each document, where and how its last suggestion ends. */
  private readonly last = new Map<string, string>();

  /**
   * Whether a suggestion is another one than the document's last one.
   *
   * @param before the text of the line up to the suggestion's range
   * @param line the number of that line
   */
  isNew(document: string, line: number, before: string, text: string): boolean {
    const ending = endingOf(line, before, text);
    const known = this.last.get(document) === ending;
    this.last.set(document, ending);
    return !known;
  }

  forget(document: string): void {
    this.last.delete(document);
  }
}

/** The number of the last line of a suggestion, and that line: typing along changes neither. */
function endingOf(line: number, before: string, text: string): string {
  const lines = text.split(/\r\n|\r|\n/);
  const last = lines.length === 1 ? before + text : lines.at(-1);
  return `${line + lines.length - 1}:${last}`;
}

/** Characters that a suggestion adds: code points of its text without what it replaces. */
export function addedLength(text: string, replaced: string): number {
  return Math.max(0, [...text].length - [...replaced].length);
}
