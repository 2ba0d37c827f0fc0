// Works in a VS Code window as a person would: keys, the mouse, and looking at what is shown.
//
//   node drive.mjs '{"url": …, "chromium": …, "playwright": …, "picture": …, "steps": [["type", "retu"], …]}'
//
// Prints one JSON array: the text that each step has seen, or null. A step waits until what it looks
// for is there; if it never is, the error names the step, and the window is kept as a picture.

import { readFileSync, statSync } from "node:fs";

const { url, chromium, playwright, picture, steps } = JSON.parse(process.argv[2]);
const { chromium: browserType } = await import(playwright);

const PATIENCE_MS = 90_000; // a start on a busy machine; usually a tenth of it
const POLL_MS = 50;
const STILL = 10; // looks in a row that see the same: nothing more is on its way

const browser = await browserType.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update"],
});
const page = await browser.newPage({ viewport: { width: 900, height: 420 }, deviceScaleFactor: 2 });
page.setDefaultTimeout(PATIENCE_MS);

/** Look again and again, until it is so many times in a row what is wanted, and the same. */
async function poll(look, isWanted, times = 1) {
  const end = Date.now() + PATIENCE_MS;
  let seen;
  for (let equal = 0; Date.now() < end; await page.waitForTimeout(POLL_MS)) {
    const now = await look();
    equal = isWanted(now) ? (now === seen ? equal + 1 : 1) : 0;
    seen = now;
    if (equal >= times) return now;
  }
  throw new Error(`seen at last: ${JSON.stringify(seen)}`);
}

/** Ghost text as it is shown: the parts on the cursor's line, then the lines below. */
const ghost = () => page.evaluate(() => {
  const all = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent);
  const lines = [all(".view-lines .ghost-text-decoration, .view-lines .ghost-text").join(""),
    ...all(".view-zones .suggest-preview-text .view-line")];
  return lines.join("\n").replaceAll("\u00a0", " ").replaceAll("\u200b", "");
});

const actions = {
  /** The status bar item says so: `midtoken ready`. */
  status: (text) => page.locator(`.statusbar-item [aria-label^="${text}"]`).waitFor(),

  /** Open a file of the folder and go to a position: `file.py:4:5`. */
  async open(place) {
    await page.keyboard.press("Control+p");
    await page.locator(".quick-input-widget input").fill(place);
    await page.locator(`.quick-input-list [aria-label*="${place.split(":")[0]}"]`).first().waitFor();
    await page.keyboard.press("Enter");
    const [file, line, column] = place.split(":");
    await page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor();
    await page.locator(`.statusbar-item :text-is("Ln ${line}, Col ${column}")`).waitFor();
  },

  /** A command of the palette, by its title. */
  async command(title) {
    await page.keyboard.press("F1");
    await page.locator(".quick-input-widget input").fill(`>${title}`);
    await page.locator(`.quick-input-list [aria-label^="${title}"]`).first().waitFor();
    await page.keyboard.press("Enter");
  },

  type: (text) => page.keyboard.type(text, { delay: 80 }),
  press: (key) => page.keyboard.press(key),

  /** Ghost text that has come to rest. */
  ghost: () => poll(ghost, (text) => text.trim() !== "", STILL),

  /** Take the suggestion that is shown, with a key. */
  async accept(key) {
    const shown = await ghost();
    await page.keyboard.press(key);
    await poll(ghost, (text) => text !== shown);
  },

  /** Write the document to its file; what was written. (Tabs tell the end of it too early.) */
  async save(path) {
    const stamp = () => statSync(path).mtimeMs;
    const old = stamp();
    await page.keyboard.press("Control+s");
    return poll(() => (stamp() === old ? null : readFileSync(path, "utf8")), (text) => text, STILL);
  },

  /** Text anywhere in the window. */
  see: (text) => page.getByText(text).first().waitFor(),
  click: (text) => page.getByText(text, { exact: true }).first().click(),
  picture: (path) => page.screenshot({ path }),
};

let step = "opening the window";
try {
  await page.goto(url);
  await page.locator(".monaco-workbench").waitFor();
  const seen = [];
  for (const [index, [name, argument]] of steps.entries()) {
    step = `step ${index + 1}, ${name} ${JSON.stringify(argument ?? "")}`;
    seen.push((await actions[name](argument)) ?? null);
  }
  console.log(JSON.stringify(seen.map((one) => (typeof one === "string" ? one : null))));
} catch (error) {
  await page.screenshot({ path: picture });
  console.error(`${step}: ${error.message.split("\n")[0]} (picture: ${picture})`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
