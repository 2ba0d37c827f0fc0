import assert from "node:assert/strict";
import { test } from "node:test";
import { appearance, statusFor, statusOf } from "../src/status.ts";

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

test("loading tells how far it is, where that is known", () => {
  const shown = appearance({ state: "loading", message: "loading m", percent: 42 });

  assert.equal(shown.text, "$(sync~spin) midtoken 42 %");
  assert.equal(shown.description, "midtoken loading 42 %: loading m");
  assert.equal(appearance({ state: "loading", message: "" }).text, "$(sync~spin) midtoken");
});

test("where midtoken is off, how the server is does not matter", () => {
  const status = { state: "error", message: "no model" } as const;

  assert.deepEqual(statusFor(status, "off for python"), { state: "off", message: "off for python" });
  assert.deepEqual(statusFor(status, undefined), status);
});

test("notices of an unknown shape are no status", () => {
  for (const notice of [undefined, null, "ready", {}, { state: "asleep" }, { state: "toString" }]) {
    assert.equal(statusOf(notice), undefined);
  }
  assert.deepEqual(statusOf({ state: "loading" }), { state: "loading", message: "" });
  assert.deepEqual(statusOf({ state: "loading", message: "m", percent: 7, more: 1 }), {
    state: "loading",
    message: "m",
    percent: 7,
  });
});
