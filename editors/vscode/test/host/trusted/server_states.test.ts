import assert from "node:assert/strict";
import { commands, workspace } from "vscode";
import {
  accept, open, reported, saidDuring, servers, set, states, status, suggest, type, until,
} from "../steps.ts";

const TEXT = "def fibonacci(n):\n    if n < 2:\n        return n\n|\n";
const BLOCK = "def fibonacci(n):\n|\n\n\nprint(fibonacci(10))\n";

/** One suggestion that is asked for and taken, as a proof that the server answers. */
async function proveAnswer(name: string, text = TEXT, typed = "    retu"): Promise<void> {
  const editor = await open(name, text);
  await type(editor, typed);
  const { accepted } = await suggest(editor);
  await accept(editor, "commit");
  assert.equal(editor.document.getText(), accepted);
}

suite("the server", () => {
  test("runs the program of the setting, once", async () => {
    const [server, ...others] = servers();

    assert.ok(server);
    assert.deepEqual(others, []);
    assert.ok(server.command.includes(workspace.getConfiguration("midtoken").get("path", "")));
  });

  test("is busy while the model writes", async () => {
    const said = await saidDuring(async () => {
      await proveAnswer("busy.py", BLOCK, "    if n"); // what is short may be done before it is told
      await status("ready");
    });

    assert.ok(states(said).includes("busy"), JSON.stringify(said));
  });

  test("is missing where there is no program, and starts as soon as there is one", async () => {
    const program = workspace.getConfiguration("midtoken").get("path", "");
    await set("path", "/nowhere/midtoken");
    const { message } = await status("missing");
    await until("the end of the server", () => servers().length === 0);
    const said = await saidDuring(async () => {
      await set("path", program);
      await status("ready");
    });

    assert.match(message, /there is no program at \/nowhere\/midtoken/);
    assert.deepEqual(states(said), ["starting", "loading", "ready"]);
    const percents = said.flatMap(({ percent }) => percent ?? []);
    assert.ok(percents.length > 0);
    assert.deepEqual(percents, [...percents].sort((a, b) => a - b));
    await proveAnswer("found.py");
  });

  test("is started anew after a crash, and answers", async () => {
    const [before] = servers();
    assert.ok(before);
    const said = await saidDuring(async () => {
      process.kill(before.pid, "SIGKILL");
      await until("another server", () => servers().find(({ pid }) => pid !== before.pid));
      await status("ready");
    });
    const after = servers();

    assert.equal(after.length, 1);
    assert.notEqual(after[0]?.pid, before.pid);
    // The end of what the model did before may be told first.
    assert.deepEqual(states(said).slice(-4), ["error", "starting", "loading", "ready"]);
    await proveAnswer("crashed.py");
  });

  test("loads the model anew when told to restart", async () => {
    const before = servers();
    const said = await saidDuring(async () => {
      await commands.executeCommand("midtoken.restart");
      await status("ready");
    });

    assert.ok(states(said).includes("loading"), JSON.stringify(said));
    assert.deepEqual(servers(), before);
    await proveAnswer("restarted.py");
  });

  test("tells what is wrong with a model, and takes the next one that is set", async () => {
    await set("model.name", "/no/such.gguf");
    const { message } = await status("error");
    await set("model.name", undefined);
    await status("ready");

    assert.match(message, /^there is no file \/no\/such\.gguf/);
  });

  test("is asked by itself, when it has a model, for what was typed while it had none", async () => {
    await set("model.name", "/no/such.gguf");
    await status("error");
    const editor = await open("typed_before.py", TEXT);
    await set("trigger.automatic", undefined);
    await type(editor, "    retu");
    await set("model.name", undefined);
    const { accepted } = await until("a suggestion that nobody asked for", () => reported(editor));
    await accept(editor, "commit");
    await set("trigger.automatic", false);

    assert.equal(editor.document.getText(), accepted);
  });

  test("is not asked where midtoken is off", async () => {
    const editor = await open("off.py", TEXT);
    await type(editor, "    retu");
    const typed = editor.document.getText();
    await commands.executeCommand("midtoken.toggleLanguage");
    const { message } = await status("off");
    await commands.executeCommand("editor.action.inlineSuggest.trigger");
    await commands.executeCommand("editor.action.inlineSuggest.commit");
    const text = editor.document.getText();
    await commands.executeCommand("midtoken.toggleLanguage");
    await status("ready");

    assert.equal(message, "off for python");
    assert.equal(text, typed);
    await type(editor, "r"); // the editor does not ask twice about the same text
    const { accepted } = await suggest(editor);
    await accept(editor, "commit");
    assert.equal(editor.document.getText(), accepted);
  });
});
