// Writes what the package needs beside the bundle: the licence, and the page without its picture.
//
// VS Code shows no picture on an extension's page but from a public web address. The walkthrough,
// which is in the package, has the same one.

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

copyFileSync("../../LICENSE", "LICENSE");
writeFileSync("out/README.md", readFileSync("README.md", "utf8").replace(/^!\[.*\n\n/m, ""));
