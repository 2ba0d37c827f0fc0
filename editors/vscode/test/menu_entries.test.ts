import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { menuEntries, type View } from "../src/menu_entries.ts";
import type { State } from "../src/status.ts";

const view: View = {
  state: "ready",
  switches: {
    everywhere: undefined,
    workspace: undefined,
    folder: undefined,
    disabledByUser: ["python"],
    disabledByWorkspace: undefined,
    language: "python",
    hasWorkspace: true,
  },
  fetchable: undefined,
};
const labels = (changes: Partial<View> = {}) =>
  menuEntries({ ...view, ...changes }).flat().map(({ label }) => label.replace(/^\$\(.*?\) /, ""));

test("the switches say what a click does", () => {
  assert.deepEqual(labels().slice(0, 3), [
    "Disable in This Workspace",
    "Enable for python",
    "Disable Everywhere",
  ]);
});

test("without a folder and an editor there is one switch", () => {
  const switches = { ...view.switches, language: undefined, hasWorkspace: false };

  assert.deepEqual(labels({ switches }).slice(0, 2), ["Disable Everywhere", "Choose a Model…"]);
});

test("a server that is missing can be had, but not asked", () => {
  const found = labels({ state: "missing" });

  assert.equal(found[0], "How to Install the Server");
  assert.ok(!found.includes("Choose a Model…"));
  assert.ok(found.includes("Show Log"));
});

test("a missing model is fetched by the first entry", () => {
  const [first] = menuEntries({ ...view, state: "error", fetchable: { name: "m", size: "5 MB" } }).flat();

  assert.deepEqual(first, {
    label: "$(cloud-download) Fetch m",
    description: "5 MB",
    command: "midtoken.pullModel",
    arguments: ["m"],
  });
});

test("every command of ours is one that the manifest has", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const known = manifest.contributes.commands.map(({ command }: { command: string }) => command);
  const states: State[] = ["ready", "missing", "error", "off"];
  const used = states.flatMap((state) =>
    menuEntries({ ...view, state, fetchable: { name: "m", size: "" } }).flat());

  for (const { command } of used.filter((entry) => entry.command.startsWith("midtoken."))) {
    assert.ok(known.includes(command), command);
  }
});
