import assert from "node:assert/strict";
import { accept, open, reported, set, suggest, type, until } from "../steps.ts";

const FIBONACCI = "def fibonacci(n):\n    if n < 2:\n        return n\n|\n\n\nprint(fibonacci(10))\n";
const BLOCK = "def fibonacci(n):\n|\n\n\nprint(fibonacci(10))\n";

suite("ghost text", () => {
  for (const [where, text, typed, line] of [
    ["an identifier", FIBONACCI, "    retu", /^    return fibonacci\(/m],
    ["an indentation", "def mean(xs):\n    total = sum(xs)\n|\n", "  ", /^    return total/m],
    ["a bracket", "rows = load_rows()\nfor row in rows:\n    print(|)\n", "ro", /^    print\(row\)/m],
  ] as const) {
    test(`in the middle of ${where}: the document is what was typed, and the remainder`, async () => {
      const editor = await open(`${where.replace(" ", "_")}.py`, text);
      await type(editor, typed);
      const typedText = editor.document.getText();
      const { accepted } = await suggest(editor);
      await accept(editor, "commit");

      assert.equal(typedText.trimStart(), text.replace("|", typed));
      assert.equal(editor.document.getText(), accepted);
      assert.match(accepted, line);
    });
  }

  test("words: each is the next part of the suggestion, and the rest stays", async () => {
    const editor = await open("words.py", FIBONACCI);
    await type(editor, "    retu");
    const { text, accepted } = await suggest(editor);
    const { line } = editor.selection.active;
    const lines = [];
    for (const how of ["acceptNextWord", "acceptNextWord", "commit"] as const) {
      await accept(editor, how);
      lines.push(editor.document.lineAt(line).text);
    }

    assert.ok(text.startsWith("rn fibonacci("), text);
    const [first, second, last] = lines as [string, string, string];
    assert.equal(first, "    return");
    assert.ok(second.startsWith(first) && second.length > first.length, second);
    assert.ok(last.startsWith(second) && last.length > second.length, last);
    assert.equal(editor.document.getText(), accepted);
  });

  test("lines: the first one of a block, and the rest stays", async () => {
    const editor = await open("lines.py", BLOCK);
    await type(editor, "    if n");
    const { text, accepted } = await suggest(editor);
    await accept(editor, "acceptNextLine");
    const first = editor.document.getText();
    await accept(editor, "commit");

    const [line, ...others] = text.split("\n");
    assert.ok(others.length > 0, text);
    assert.equal(first.trimStart(), BLOCK.replace("|", `    if n${line}\n`));
    assert.equal(editor.document.getText(), accepted);
  });

  test("comes by itself while somebody types", async () => {
    const editor = await open("typing.py", FIBONACCI);
    await set("trigger.automatic", undefined);
    await type(editor, "    retu");
    const { accepted } = await until("a suggestion that nobody asked for", () => reported(editor));
    await accept(editor, "commit");
    await set("trigger.automatic", false);

    assert.equal(editor.document.getText(), accepted);
  });
});
