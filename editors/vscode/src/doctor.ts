/** `midtoken doctor` on a page of the editor. */
import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { ProgressLocation, window } from "vscode";
import { doctorArguments } from "./doctor_arguments.ts";
import type { Pages } from "./pages.ts";
import type { Server } from "./server.ts";
import { serverSettings } from "./settings.ts";

export async function runDoctor(server: Server, pages: Pages): Promise<void> {
  const program = await server.findProgram();
  if (program === undefined) {
    await server.tellMissing();
    return;
  }
  const given = doctorArguments(serverSettings(server.settingNames, undefined));
  const options = { location: ProgressLocation.Notification, cancellable: true };
  const title = "midtoken: examining build, devices, model and speed";
  const said = await window.withProgress({ ...options, title }, (_, token) =>
    new Promise<string | undefined>((resolve) => {
      const child = execFile(program, given, { cwd: homedir() }, (error, output, errors) => {
        const text = output + errors;
        resolve(token.isCancellationRequested ? undefined : text || `${error?.message}\n`);
      });
      token.onCancellationRequested(() => child.kill());
    }),
  );
  if (said !== undefined) {
    await pages.show("doctor.txt", said);
  }
}
