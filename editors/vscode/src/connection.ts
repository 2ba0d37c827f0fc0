/** How the server is reached: as a process of ours, or on a port of this machine. */
import { connect } from "node:net";
import { homedir } from "node:os";
import type { ServerOptions, StreamInfo } from "vscode-languageclient/node";
import { addressOf } from "./address.ts";

/** Start a program and talk over its standard input and output; a shared server is behind it. */
export function overStdio(program: string, shared: boolean): ServerOptions {
  const args = ["serve", shared ? "--shared" : "--stdio"];
  // Not in the open folder: Python may look for modules where it is started.
  return { command: program, args, options: { cwd: homedir() } };
}

/** Connect to a server that runs already (`midtoken serve --tcp`), which other editors may share. */
export function overTcp(address: string): ServerOptions {
  return () =>
    new Promise<StreamInfo>((resolve, reject) => {
      const place = addressOf(address);
      if (!place) {
        reject(new Error(`${address} is not an address: write HOST:PORT, as in 127.0.0.1:7777`));
        return;
      }
      const socket = connect(place);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve({ reader: socket, writer: socket, detached: true });
      });
    });
}
