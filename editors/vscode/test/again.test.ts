import assert from "node:assert/strict";
import { test } from "node:test";
import { Again, type Place } from "../src/again.ts";

const HERE: Place = { document: "a", version: 3, line: 1, character: 7 };

/** An editor with its cursor there, and how it was made to ask. */
function editorAt(place: Place | undefined) {
  const asked: boolean[] = [];
  const editor = {
    at: place,
    focused: true,
    place: () => editor.at,
    isFocused: () => editor.focused,
    ask: async (explicit: boolean) => void asked.push(explicit),
    pause: async () => {},
  };
  return { editor, asked, again: new Again(editor) };
}

test("a request that may not have been seen is made again, once, where nothing has changed", async () => {
  const { editor, again, asked } = editorAt(HERE);
  editor.ask = async (explicit) => {
    asked.push(explicit);
    await again.unseen(again.asked(HERE, explicit));
  };
  await again.unseen(again.asked(HERE, false));
  await again.unseen(again.asked(HERE, false));

  assert.deepEqual(asked, [false]);

  editor.at = { ...HERE, version: 4 };
  await again.unseen(again.asked(HERE, false));
  await again.unseen(again.asked(editor.at, true)); // a person's own: nobody's 750 ms
  assert.deepEqual(asked, [false]);
});

test("an editor that did not ask when it was told to is told once more", async () => {
  const { again, asked } = editorAt(HERE);
  await again.unseen(again.asked(HERE, false));
  await again.unseen(again.asked(HERE, false));

  assert.deepEqual(asked, [false, false]);
});

test("at the next place it is made again, too", async () => {
  const { editor, again, asked } = editorAt(HERE);
  await again.unseen(again.asked(HERE, false));
  const next = { ...HERE, version: 4, character: 8 };
  editor.at = next;
  await again.unseen(again.asked(next, false));

  assert.equal(asked.length, 2);
});

test("it is not after a change or a move, nor where nobody looks, nor for a newer request", async () => {
  const elsewhere = [{ ...HERE, version: 4 }, { ...HERE, character: 8 }, { ...HERE, line: 2 }];
  for (const place of [...elsewhere, { ...HERE, document: "b" }, undefined]) {
    const { again, asked } = editorAt(place);
    await again.unseen(again.asked(HERE, false));
    assert.deepEqual(asked, []);
  }
  const { again, asked } = editorAt(HERE);
  const old = again.asked(HERE, false);
  again.asked(HERE, false);
  await again.unseen(old);
  assert.deepEqual(asked, []);
});

test("it is not when the window has lost the focus, but where it was not said to have it", async () => {
  for (const focused of [true, false]) {
    const { editor, again, asked } = editorAt(HERE);
    editor.focused = focused;
    const wish = again.asked(HERE, false);
    editor.focused = false;
    await again.unseen(wish);

    assert.deepEqual(asked, focused ? [] : [false]);
  }
});

test("what is typed in the moment after counts", async () => {
  const { editor, again, asked } = editorAt(HERE);
  editor.pause = async () => {
    editor.at = { ...HERE, version: 4 };
  };
  await again.unseen(again.asked(HERE, false));

  assert.deepEqual(asked, []);
});

test("a request that a person has made stays dropped, and an automatic one stays automatic", async () => {
  for (const explicit of [false, true]) {
    const { editor, again } = editorAt(HERE);
    const repeated: boolean[] = [];
    // An editor that always asks explicitly.
    editor.ask = async () => void repeated.push(again.asked(HERE, true).explicit);
    await again.unseen(again.asked(HERE, explicit));

    assert.deepEqual(repeated, explicit ? [] : [false]);
    assert.equal(again.asked(HERE, true).explicit, true);
  }
});

test("what had no model is asked for when there is one, once, and is as it was", async () => {
  const { editor, again } = editorAt(HERE);
  const repeated: boolean[] = [];
  editor.ask = async (explicit) => {
    assert.ok(explicit);
    repeated.push(again.asked(HERE, explicit).explicit);
  };
  await again.modelIs(false);
  await again.missed(again.asked(HERE, false));
  assert.deepEqual(repeated, []);
  await again.modelIs(true);
  await again.modelIs(true);

  assert.deepEqual(repeated, [false]);
});

test("a model that is ready before the empty answer is here is asked at once", async () => {
  const { again, asked } = editorAt(HERE);
  const wish = again.asked(HERE, false);
  await again.modelIs(true);
  await again.missed(wish);

  assert.equal(asked.length, 1);
});

test("a place that was left, or asked about again, is not asked about when there is a model", async () => {
  const { editor, again, asked } = editorAt(HERE);
  await again.missed(again.asked(HERE, false));
  again.asked(HERE, false);
  await again.modelIs(true);
  await again.modelIs(false);
  await again.missed(again.asked(HERE, false));
  editor.at = { ...HERE, line: 9 };
  await again.modelIs(true);

  assert.deepEqual(asked, []);
});
