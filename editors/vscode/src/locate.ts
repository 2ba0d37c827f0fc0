/**
 * Where the server's program is. The first place that has it wins:
 *
 * 1. the setting `midtoken.path`; if it is set, nothing else is tried;
 * 2. the folder of the selected Python environment's programs;
 * 3. the folders of PATH. Relative ones are left out: they would be inside whatever is open.
 */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";

export interface Places {
  /** The value of `midtoken.path`; empty if it is not set. */
  setting: string;
  /** The interpreter of the selected Python environment, if it is known and trusted. */
  python: string | undefined;
  /** The value of PATH. */
  path: string;
}

export type Located =
  | { found: true; program: string; origin: string }
  | { found: false; tried: string[] };

export async function locate(
  places: Places,
  isProgram: (path: string) => Promise<boolean> = isExecutable,
): Promise<Located> {
  const tried: string[] = [];
  for (const { program, origin } of candidates(places)) {
    if (await isProgram(program)) {
      return { found: true, program, origin };
    }
    tried.push(`${program} (${origin})`);
  }
  return { found: false, tried };
}

function candidates({ setting, python, path }: Places): { program: string; origin: string }[] {
  if (setting) {
    const program = setting.replace(/^~(?=[/\\])/, () => homedir());
    return [{ program, origin: "the setting midtoken.path" }];
  }
  const folders = path.split(delimiter).filter(isAbsolute);
  const found = folders.map((folder) => ({ program: join(folder, program()), origin: "PATH" }));
  if (python) {
    const bin = dirname(python);
    // Conda on Windows keeps programs beside the interpreter's folder.
    const folders = process.platform === "win32" ? [bin, join(bin, "Scripts")] : [bin];
    const origin = "the selected Python environment";
    found.unshift(...folders.map((folder) => ({ program: join(folder, program()), origin })));
  }
  return found;
}

function program(): string {
  return process.platform === "win32" ? "midtoken.exe" : "midtoken";
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return isAbsolute(path) && (await stat(path)).isFile();
  } catch {
    return false;
  }
}
