// Writes what the package needs beside the bundle: the licences, and the page without its picture.
//
// VS Code shows no picture on an extension's page but from a public web address. The walkthrough,
// which is in the package, has the same one.

import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Licences that ask for no more than that their text comes along. */
const allowed = new Set(["MIT", "ISC", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause"]);

copyFileSync("../../LICENSE", "LICENSE");
writeFileSync("out/README.md", readFileSync("README.md", "utf8").replace(/^!\[.*\n\n/m, ""));
writeFileSync("out/ThirdPartyNotices.txt", bundled("out/bundle.json").map(notice).join("\n"));

/** The folders of all packages of which something is in the bundle. */
function bundled(metafile) {
  const inputs = Object.keys(JSON.parse(readFileSync(metafile, "utf8")).inputs);
  const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
  return [...new Set(inputs.flatMap((input) => input.match(folder) ?? []))].sort();
}

/** What a package's licence asks to be told. Throws where it is missing, or not allowed. */
function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!allowed.has(license) || !file) {
    throw new Error(`${name}: its licence (${license}) is not allowed, or has no text`);
  }
  const text = readFileSync(`${folder}/${file}`, "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n\n${"-".repeat(80)}\n`;
}
