import assert from "node:assert/strict";
import { commands, type CompletionList, Range, type TextEditor } from "vscode";
import { open, reported, set, type, until, untilChanged } from "../steps.ts";

const TEXT = "def fibonacci(n):\n    if n < 2:\n        return n\n|\n\n\nprint(fibonacci(10))\n";

/** Entries that are not the editor's own. */
async function entries({ document, selection }: TextEditor): Promise<CompletionList["items"]> {
  const { items } = await commands.executeCommand<CompletionList>(
    "vscode.executeCompletionItemProvider", document.uri, selection.active);
  return items.filter(({ detail }) => detail?.startsWith("Qwen"));
}

suite("the completion list", () => {
  teardown(() => set("completionList", undefined));

  test("has no entries of ours, unless they are wanted", async () => {
    const editor = await open("unwanted.py", TEXT);
    await type(editor, "    retu");

    assert.deepEqual(await entries(editor), []);
  });

  test("has the suggestion: its edit is the remainder, and it is shown with the word before it", async () => {
    await set("completionList", true);
    const editor = await open("entries.py", TEXT);
    await type(editor, "    retu");
    const [entry] = await until("an entry", async () => {
      const found = await entries(editor);
      return found.length > 0 ? found : undefined;
    });
    const suggestion = await reported(editor);

    assert.ok(entry);
    assert.equal(entry.insertText, suggestion?.text);
    assert.ok(entry.range instanceof Range);
    assert.ok(entry.range.isEmpty);
    assert.ok(entry.range.start.isEqual(editor.selection.active));
    assert.match(typeof entry.label === "string" ? entry.label : entry.label.label, /^return fibonacci\(/);
  });

  test("an entry that is taken leaves what was typed, and the remainder", async () => {
    await set("completionList", true);
    const editor = await open("taken.py", TEXT);
    await type(editor, "    retu");
    await commands.executeCommand("editor.action.triggerSuggest");
    await untilChanged(editor, () => commands.executeCommand("acceptSelectedSuggestion"));

    assert.match(editor.document.lineAt(editor.selection.active.line).text, /^    return fibonacci\(/);
  });
});
