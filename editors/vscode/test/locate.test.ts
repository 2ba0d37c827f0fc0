import assert from "node:assert/strict";
import { delimiter, join, resolve } from "node:path";
import { test } from "node:test";
import { locate } from "../src/locate.ts";

const name = process.platform === "win32" ? "midtoken.exe" : "midtoken";
const bin = resolve("/usr/bin");
const environment = resolve("/env/bin");
const path = ["relative", bin].join(delimiter);
const nowhere = { setting: "", python: undefined, path };
const only = (program: string) => async (asked: string) => asked === program;

test("the setting wins, and nothing else is tried when it is wrong", async () => {
  const places = { ...nowhere, setting: "/mine/midtoken", python: join(environment, "python") };
  const found = await locate(places, async () => true);
  const missing = await locate(places, only(join(bin, name)));

  assert.deepEqual(found, {
    found: true,
    program: "/mine/midtoken",
    origin: "the setting midtoken.path",
  });
  assert.deepEqual(missing, { found: false, tried: ["/mine/midtoken (the setting midtoken.path)"] });
});

test("the selected environment comes before PATH", async () => {
  const places = { ...nowhere, python: join(environment, "python") };

  const located = await locate(places, async () => true);

  assert.equal(located.found && located.program, join(environment, name));
});

test("PATH is searched, but not its relative folders", async () => {
  const found = await locate(nowhere, only(join(bin, name)));
  const missing = await locate(nowhere, only(join("relative", name)));

  assert.equal(found.found && found.origin, "PATH");
  assert.deepEqual(missing, { found: false, tried: [`${join(bin, name)} (PATH)`] });
});

test("a folder of that name is not a program", async () => {
  const located = await locate({ ...nowhere, setting: bin });

  assert.equal(located.found, false);
});
