import assert from "node:assert/strict";
import { test } from "node:test";
import { doctorArguments } from "../src/doctor_arguments.ts";

test("the doctor examines the model and the engine that are set", () => {
  const settings = {
    "model.name": "/models/my model.gguf",
    "model.lora": "",
    "model.loraScale": 0.5,
    "engine.gpuLayers": 12,
    "engine.tensorSplit": [1, 2],
    "completion.maxTokens": 9,
  };

  assert.deepEqual(doctorArguments(settings), [
    "doctor", "--model", "/models/my model.gguf", "--lora-scale", "0.5", "--gpu-layers", "12", "--tensor-split", "1,2",
  ]);
});

test("what is not set, empty or automatic is left to it", () => {
  assert.deepEqual(doctorArguments({ "engine.threads": "auto", "engine.tensorSplit": [] }), ["doctor"]);
});
