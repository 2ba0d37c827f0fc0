import assert from "node:assert/strict";
import { test } from "node:test";
import { appearance, statusOf } from "../src/status.ts";

test("an error stands out, and the description tells what is wrong", () => {
  const shown = appearance({ state: "error", message: "no model: run `midtoken model pull`" });

  assert.equal(shown.background, "statusBarItem.errorBackground");
  assert.equal(shown.description, "midtoken error: no model: run `midtoken model pull`");
});

test("a server that is ready does not ask for attention", () => {
  assert.deepEqual(appearance({ state: "ready", message: "" }), {
    text: "$(sparkle) midtoken",
    description: "midtoken ready",
    background: undefined,
  });
});

test("notices of an unknown shape are no status", () => {
  for (const notice of [undefined, null, "ready", {}, { state: "asleep" }, { state: "toString" }]) {
    assert.equal(statusOf(notice), undefined);
  }
  assert.deepEqual(statusOf({ state: "loading" }), { state: "loading", message: "" });
});
