import assert from "node:assert/strict";
import { test } from "node:test";
import { addedLength, Offers } from "../src/offers.ts";

test("a suggestion that is typed along is counted once", () => {
  const offers = new Offers();

  assert.ok(offers.isNew("a", 3, "    retu", "rn total"));
  assert.ok(!offers.isNew("a", 3, "    retur", "n total"));
  assert.ok(!offers.isNew("a", 3, "    return tot", "al"));
  assert.ok(offers.isNew("a", 3, "    return tot", "als[0]"));
});

test("typing along goes on over several lines", () => {
  const offers = new Offers();

  assert.ok(offers.isNew("a", 1, "if", " x:\n    y()\n    z()"));
  assert.ok(!offers.isNew("a", 1, "if x", ":\n    y()\n    z()"));
  assert.ok(!offers.isNew("a", 2, "    y(", ")\n    z()"));
  assert.ok(!offers.isNew("a", 3, "    ", "z()"));
});

test("the same text at another place, or in another document, is another suggestion", () => {
  const offers = new Offers();
  offers.isNew("a", 1, "", "pass");

  assert.ok(offers.isNew("b", 1, "", "pass"));
  assert.ok(offers.isNew("a", 2, "", "pass"));
});

test("one that comes again after it was taken counts again", () => {
  const offers = new Offers();
  offers.isNew("a", 1, "", "pass");
  offers.forget("a");

  assert.ok(offers.isNew("a", 1, "", "pass"));
});

test("what a suggestion replaces is not counted as written, and emoji are one character", () => {
  assert.equal(addedLength("rows)", ")"), 4);
  assert.equal(addedLength("🎉!", ""), 2);
  assert.equal(addedLength("", ")"), 0);
});
