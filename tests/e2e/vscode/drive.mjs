// Works in a VS Code window as a person would: keys, the mouse, and looking at what is shown.
//
//   node drive.mjs '{"url": …, "chromium": …, "playwright": …}'
//
// Reads steps from standard input, one JSON array a line: ["type", "retu"]. Answers each with a line:
// {"seen": …} or {"error": …}. A step waits until what it looks for is there.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createInterface } from "node:readline";

const { url, chromium, playwright } = JSON.parse(process.argv[2]);
const { chromium: browserType } = await import(playwright);

const PATIENCE_MS = 60_000; // a start on a busy machine; usually a tenth of it
const TRIES = 12; // of a key that may be swallowed
const POLL_MS = 50;
const STILL = 10; // looks in a row that see the same: nothing more is on its way

const browser = await browserType.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update"],
});
// High enough for all entries of a list: those that are out of sight are not in the page.
const [viewport, ofPictures] = [{ width: 900, height: 720 }, { width: 900, height: 420 }];
const page = await browser.newPage({ viewport, deviceScaleFactor: 2 });
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

const choices = ".quick-input-list .monaco-list-row";
const item = page.locator('.statusbar-item [aria-label^="midtoken "]');

/** Remember everything that the status bar item says. */
const remember = () => page.evaluate(() => {
  window.said = [];
  const look = () => {
    const found = document.querySelector('.statusbar-item [aria-label^="midtoken "]');
    const label = found?.getAttribute("aria-label");
    if (label && label !== window.said.at(-1)) window.said.push(label);
  };
  const what = { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-label"] };
  new MutationObserver(look).observe(document.body, what);
});

/**
 * Open the quick input by a key and write into it. All of it is done again where nothing is open: a
 * page inside the editor that is about to change its looks swallows keys, and an input that is there
 * may be the last one, which is about to close.
 */
async function ask(key, text) {
  const input = page.locator(".quick-input-widget input");
  const timeout = PATIENCE_MS / TRIES;
  for (let tries = 0; tries < TRIES; tries++) {
    // Keys go to the page inside the editor first, if that has the focus: take it away.
    if (tries) await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press(key);
    const written = await input.fill(text, { timeout }).then(() => true, () => false);
    // Written into the one that closes, it is gone again in a moment.
    await page.waitForTimeout(POLL_MS);
    if (written && (await input.isVisible()) && (await input.inputValue({ timeout })) === text) return;
  }
  throw new Error(`${key} opens nothing`);
}

const actions = {
  /** The status bar item says so: `midtoken ready`. */
  status: (text) => page.locator(`.statusbar-item [aria-label^="${text}"]`).waitFor(),

  /** It says so now, and has said something else since it had said so many things. */
  "status again": (text, count) => poll(
    () => page.evaluate(() => window.said),
    (said) => said.length > Number(count) + 1 && said.at(-1).startsWith(text)),

  /** Everything that it has said so far. */
  said: () => page.evaluate(() => window.said),

  /** Open the menu of the status bar item; its title and entries. */
  async menu() {
    await item.click();
    await page.locator(choices).first().waitFor();
    const title = await page.locator(".quick-input-title").textContent();
    return [title, ...(await page.locator(`${choices} .label-name`).allTextContents())];
  },

  /** Close the menu, and be in the editor again. */
  async leave() {
    await page.keyboard.press("Escape");
    await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    await page.locator(".monaco-editor.focused").waitFor();
  },

  /** Take an entry of the menu or list that is open. */
  async choose(text) {
    await page.locator(choices, { hasText: text }).first().click();
  },

  /**
   * Open a file of the folder and go to a position: `file.py:4:5`. Columns are UTF-16; the status
   * bar shows code points.
   */
  async open(place, shown) {
    const [file, line, column] = place.split(":");
    await ask("Control+p", place);
    await page.locator(`${choices}.focused[aria-label*="${file}"]`).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor();
    await page.locator(`.statusbar-item :text-is("Ln ${line}, Col ${shown ?? column}")`).waitFor();
    await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    await page.locator(".monaco-editor.focused").waitFor();
  },

  /** A command of the palette, by its title. */
  async command(title) {
    await ask("F1", `>${title}`);
    await page.locator(`.quick-input-list [aria-label^="${title}"]`).first().waitFor();
    await page.keyboard.press("Enter");
  },

  type: (text) => page.keyboard.type(text, { delay: 80 }),
  press: (key) => page.keyboard.press(key),

  /** Ghost text that has come to rest. */
  ghost: () => poll(ghost, (text) => text.trim() !== "", STILL),

  /** There is none, and none comes for a while. */
  noGhost: () => poll(ghost, (text) => text.trim() === "", 2 * STILL),

  /** Take what is shown, or a part of it, with a key; what is shown then. */
  async accept(key) {
    const shown = await ghost();
    await page.keyboard.press(key);
    return poll(ghost, (text) => text !== shown, STILL);
  },

  /** A file is there that holds a text; what it holds. */
  file: (path, text) => poll(() => {
    const held = existsSync(path) ? readFileSync(path, "utf8") : "";
    return held.includes(text) ? held : "";
  }, (held) => held),

  /** Write the document to its file; what was written. (Tabs tell the end of it too early.) */
  async save(path) {
    const stamp = () => statSync(path).mtimeMs;
    const old = stamp();
    await page.keyboard.press("Control+s");
    return poll(() => (stamp() === old ? null : readFileSync(path, "utf8")), (text) => text, STILL);
  },

  /** Text anywhere in the window. */
  see: (text) => page.getByText(text).first().waitFor(),
  /** No notification says so; what is read out by screen readers stays longer. */
  unsee: (text) => page.locator(".notification-toast", { hasText: text }).waitFor({ state: "hidden" }),
  click: (text) => page.getByText(text, { exact: true }).first().click(),

  /** What a page of text that is open shows of itself. */
  text: () => page.evaluate(() =>
    [...document.querySelectorAll(".monaco-editor .view-line")]
      .map((line) => line.textContent.replaceAll("\u00a0", " ")).join("\n")),

  /** Entries of the completion list. */
  async list() {
    await page.locator(".suggest-widget.visible .monaco-list-row").first().waitFor();
    return page.locator(".suggest-widget .monaco-list-row .label-name").allTextContents();
  },

  /** Entries of the completion list, once one of them is there. */
  "list until": (text) => poll(
    () => page.locator(".suggest-widget.visible .monaco-list-row .label-name").allTextContents(),
    (labels) => labels.includes(text)),

  /** Take an entry of the completion list, wherever the choice stands. */
  async take(text) {
    const chosen = page.locator(".suggest-widget .monaco-list-row.focused .label-name");
    for (let tries = 0; tries < TRIES && (await chosen.textContent()) !== text; tries++) {
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
  },

  /** A picture inside a page of the editor is loaded; its width in pixels. */
  async image(name) {
    const width = async () => {
      for (const frame of page.frames()) {
        const found = await frame.locator(`img[src*="${name}"]`).first()
          .evaluate((one) => one.naturalWidth, null, { timeout: 200 }).catch(() => 0);
        if (found) return found;
      }
      return 0;
    };
    return poll(width, (found) => found > 0);
  },

  /** Text in a page inside the editor, a frame of its own; the page's background, if it is another. */
  async inside(text, other) {
    const look = async () => {
      for (const frame of page.frames()) {
        const found = await frame.getByText(text).first()
          .evaluate((one) => getComputedStyle(one.ownerDocument.body).backgroundColor, null, { timeout: 200 })
          .catch(() => null);
        if (found) return found;
      }
      return null;
    };
    return poll(look, (found) => found && found !== other);
  },

  /** What is chosen in the panel's lists: the output channel is among it. */
  panel: () => page.locator(".part.panel select").evaluateAll((all) =>
    all.map((one) => one.selectedOptions[0]?.text)),

  screen: (path) => page.screenshot({ path }),

  /** A picture of a small window with the ghost text in it. */
  async picture(path) {
    await page.setViewportSize(ofPictures);
    await poll(ghost, (text) => text.trim() !== "", STILL);
    await page.screenshot({ path });
    await page.setViewportSize(viewport);
  },
};

/** An error of playwright, without its log. */
const brief = (error) => error.message.split("\n")[0];

/** What a reader of a failure asks first: the picture of the window may be out of reach. */
const facts = () => page.evaluate(() => {
  const all = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent);
  return {
    focused: document.hasFocus() && document.querySelector(".monaco-editor.focused") !== null,
    line: all(".statusbar-item").find((text) => text.startsWith("Ln ")),
    status: document.querySelector('.statusbar-item [aria-label^="midtoken "]')?.ariaLabel,
    list: all(".suggest-widget.visible .monaco-list-row .label-name"),
    notifications: all(".notification-list-item-message"),
  };
});

const tell = (answer) => console.log(JSON.stringify(answer));

try {
  await page.goto(url);
  await page.locator(".monaco-workbench").waitFor();
  await remember();
  tell({ seen: null });
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...values] = JSON.parse(line);
    try {
      tell({ seen: (await actions[name](...values)) ?? null });
    } catch (error) {
      const seen = await facts().catch(brief);
      tell({ error: `${brief(error)}; there is ${JSON.stringify(seen)}` });
    }
  }
} catch (error) {
  tell({ error: brief(error) });
} finally {
  await browser.close();
}
