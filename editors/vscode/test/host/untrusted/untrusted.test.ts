import assert from "node:assert/strict";
import { workspace } from "vscode";
import { accept, open, servers, suggest, type } from "../steps.ts";

suite("a folder that is not trusted", () => {
  test("is not asked which program and which model to run", () => {
    const settings = workspace.getConfiguration("midtoken");
    const [server] = servers();

    assert.equal(workspace.isTrusted, false);
    for (const name of ["path", "model.name"]) {
      assert.ok(settings.get(name), name);
      assert.equal(settings.get(name), settings.inspect(name)?.globalValue);
    }
    assert.ok(server?.command.includes(settings.get("path", "")));
  });

  test("gets suggestions as any other", async () => {
    const editor = await open("here.py", "|\n");
    await type(editor, "import o");
    const { text, accepted } = await suggest(editor);
    await accept(editor, "commit");

    assert.ok(text);
    assert.equal(editor.document.getText(), accepted);
    assert.ok(accepted.trimStart().startsWith("import o"), accepted);
  });
});
