/** The command line of `midtoken doctor` that examines what the settings describe. */

const OPTIONS: Record<string, string> = {
  "model.name": "--model",
  "model.lora": "--lora",
  "model.loraScale": "--lora-scale",
  "engine.threads": "--threads",
  "engine.contextSize": "--context-size",
  "engine.gpuLayers": "--gpu-layers",
  "engine.mainGpu": "--main-gpu",
  "engine.tensorSplit": "--tensor-split",
  "engine.flashAttention": "--flash-attn",
};

/** @param settings what is set, by name without `midtoken.` */
export function doctorArguments(settings: Record<string, unknown>): string[] {
  const given = Object.entries(OPTIONS).flatMap(([key, option]) => {
    const value = settings[key];
    // "auto" is what the command does by itself; not every option of it knows the word.
    const said = value !== undefined && value !== "auto" && String(value) !== "";
    return said ? [option, String(value)] : [];
  });
  return ["doctor", ...given];
}
