import assert from "node:assert/strict";
import { test } from "node:test";
import { flipped, isOn, type Switches, type Where, whyOff } from "../src/switches.ts";

const nothingSet: Switches = {
  everywhere: undefined,
  workspace: undefined,
  folder: undefined,
  disabledByUser: undefined,
  disabledByWorkspace: undefined,
  language: "python",
  hasWorkspace: true,
};

/** The switches after the changes are written. */
function written(switches: Switches, where: Where): Switches {
  const names = { user: "everywhere", workspace: "workspace", folder: "folder" } as const;
  const lists = { user: "disabledByUser", workspace: "disabledByWorkspace" } as const;
  let after = switches;
  for (const { key, target, value } of flipped(switches, where)) {
    const name = key === "enable" ? names[target] : lists[target as "user" | "workspace"];
    after = { ...after, [name]: value };
  }
  return after;
}

/** All combinations of values that the settings can have. */
function* combinations(): Generator<Switches> {
  const flags = [undefined, true, false];
  const lists = [undefined, [], ["python"], ["go", "python"], ["go"]];
  for (const everywhere of flags)
    for (const workspace of flags)
      for (const folder of flags)
        for (const disabledByUser of lists)
          for (const disabledByWorkspace of lists)
            yield { ...nothingSet, everywhere, workspace, folder, disabledByUser, disabledByWorkspace };
}

test("everything is on until something is switched off", () => {
  assert.equal(whyOff(nothingSet), undefined);
  assert.equal(whyOff({ ...nothingSet, everywhere: false }), "off");
  assert.equal(whyOff({ ...nothingSet, workspace: false }), "off in this workspace");
  assert.equal(whyOff({ ...nothingSet, disabledByUser: ["python"] }), "off for python");
  assert.equal(whyOff({ ...nothingSet, everywhere: false, workspace: true }), undefined);
});

test("a switch that is flipped is the other way round, whatever else is set", () => {
  for (const before of combinations()) {
    for (const where of ["workspace", "language", "everywhere"] as const) {
      assert.equal(isOn(written(before, where), where), !isOn(before, where), JSON.stringify(before));
    }
  }
});

test("everywhere is here, too", () => {
  for (const before of combinations()) {
    const after = written(before, "everywhere");
    assert.equal(isOn(after, "workspace"), isOn(after, "everywhere"), JSON.stringify(before));
  }
});

test("other languages stay as they are", () => {
  const before = { ...nothingSet, disabledByUser: ["go"], disabledByWorkspace: ["css"] };

  assert.deepEqual(flipped(before, "language"), [
    { key: "languages.disabled", target: "workspace", value: ["css", "python"] },
  ]);
});

test("flipping twice leaves no settings behind", () => {
  for (const where of ["workspace", "everywhere"] as const) {
    assert.deepEqual(written(written(nothingSet, where), where), nothingSet);
  }
});
