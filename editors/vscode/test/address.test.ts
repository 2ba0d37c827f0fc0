import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf } from "../src/address.ts";

test("host and port", () => {
  assert.deepEqual(addressOf(" 127.0.0.1:7777 "), { host: "127.0.0.1", port: 7777 });
  assert.deepEqual(addressOf("localhost:1"), { host: "localhost", port: 1 });
  assert.deepEqual(addressOf("[::1]:7777"), { host: "::1", port: 7777 });
});

test("what is no address is none", () => {
  const others = ["", "localhost", ":7777", "localhost:0", "localhost:65536", "::1:7777", "a b:1", "http://a:1"];
  for (const text of others) {
    assert.equal(addressOf(text), undefined, text);
  }
});
