/** The exported page in a real browser: what it shows, how it is used, what it withstands. */
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { exportPage } from "../../plugins/export-html/export.ts";
import { fileSource } from "../../plugins/export-html/source.ts";
import { PageFile } from "../../plugins/export-html/target.ts";
import { chromiumPath, launchChromium, noChromium } from "../helpers/chromium.ts";
import { runPi } from "../helpers/pi.ts";
import { hostileSession, longSession, readableSession } from "./export-html.session.ts";

// What runs inside of the page; the project itself is not compiled for browsers.
declare const window: any;
declare const document: any;

const isLong = process.env.PI_TEST_LONG === "1";
const { session, ids } = readableSession();

let folder: string;
let browser: Browser;
let readable: string;

async function exportTo(name: string, sessionFile: string): Promise<string> {
  const file = await PageFile.create(join(folder, `${name}.html`), folder);
  await exportPage(await fileSource(sessionFile), file, { secrets: [], generator: "pi test" });
  await file.finish();
  return file.path;
}

interface Opened {
  page: Page;
  /** console errors, uncaught errors and requests for anything but the file */
  trouble: string[];
}

async function open(path: string, { hash = "", ...options }: BrowserContextOptions & { hash?: string } = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const trouble: string[] = [];
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("request", (request) => !/^(?:file|data):/.test(request.url()) && trouble.push(`request for ${request.url()}`));
  page.on("dialog", (dialog) => trouble.push(`dialog ${dialog.message()}`));
  await page.goto(pathToFileURL(path).href + hash);
  await page.waitForSelector("body:not(.loading)");
  return { page, trouble };
}

/** What a reader sees, without folded parts. */
// biome-ignore lint/performance/useDomNodeTextContent: textContent would count what is folded
const visibleText = (page: Page, selector: string) => page.innerText(selector);
const entry = (id: string) => `[id="e-${id}"]`;
const inView = (page: Page, selector: string) =>
  page.waitForFunction((wanted) => {
    const box = document.querySelector(wanted)?.getBoundingClientRect();
    return box !== undefined && box.top >= 0 && box.top < window.innerHeight;
  }, selector);

describe.skipIf(!chromiumPath)(`the exported page${chromiumPath ? "" : ` (${noChromium})`}`, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pi-page-"));
    browser = await launchChromium();
    readable = await exportTo("readable", session.save(join(folder, "readable.jsonl")));
  });
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("shows the conversation, with Markdown, code, diffs, images and what failed", async () => {
    const { page, trouble } = await open(readable);
    expect(await page.title()).toBe("Week start in the date picker");
    expect(await page.textContent("h1")).toBe("Week start in the date picker");
    const shown = await visibleText(page, "#conversation");
    expect(shown).toContain("Please make the parameter required");
    expect(shown).not.toContain("first branch");
    expect(shown).not.toContain("hidden instruction");
    expect(await visibleText(page, `${entry(ids.question)} strong`)).toBe("wrong month");
    expect(await page.locator("table td").count()).toBe(4);
    expect(await page.locator("pre.code .hljs-keyword").first().textContent()).toBe("const");
    expect(await page.locator(".diff .add").count()).toBe(1);
    expect(await page.locator(".diff .del").count()).toBe(1);
    expect(await page.locator(".wanted").count()).toBe(0);
    expect(await page.locator("img.image").evaluate((image: any) => image.naturalWidth)).toBe(1);
    expect(await page.locator(".tool.failed .stat").textContent()).toBe("failed · 3 lines");
    expect(await visibleText(page, `${entry(ids.secondQuestion)} .label`)).toBe("second try");
    expect(await visibleText(page, "#totals")).toMatch(/Prompts\s*3/);
    expect(trouble).toEqual([]);
  });

  test("works the same when the built program writes it", async () => {
    const { status } = await runPi({ cwd: folder, args: ["--export", "readable.jsonl", "built.html"] });
    expect(status).toBe(0);
    const { page, trouble } = await open(join(folder, "built.html"));
    await page.fill("#search", "needle-in");
    await page.waitForFunction(() => document.getElementById("search-status")?.textContent === "1 found");
    await page.press("#search", "Enter");
    await page.waitForSelector(`${entry(ids.look)} .term:visible`);
    expect(await page.locator("#plot svg").count()).toBe(1);
    expect(await page.locator("#tree li").count()).toBeGreaterThan(4);
    expect(trouble).toEqual([]);
  });

  test("folds thinking and tool output, which stands in its call", async () => {
    const { page } = await open(readable);
    const fold = page.locator(`${entry(ids.look)} details[data-call=c1]`);
    expect(await fold.locator(".term").isVisible()).toBe(false);
    await fold.locator("summary").click();
    expect(await fold.locator(".term").textContent()).toContain("needle-in-output");
    expect(await fold.locator(".ansi-red").textContent()).toBe("failed");
    const thought = page.locator(`${entry(ids.look)} details.thinking`);
    expect(await thought.locator(".md").isVisible()).toBe(false);
    await page.click("#folds");
    expect(await thought.locator(".md").isVisible()).toBe(true);
    await page.click("#folds");
    expect(await fold.locator(".term").isVisible()).toBe(false);
  });

  test("goes from branch to branch, by the tree, by the switch and by address", async () => {
    const { page } = await open(readable);
    await page.click("text=‹");
    await page.waitForSelector("text=first branch");
    expect(await visibleText(page, "#conversation")).not.toContain("on the second branch");
    expect(await visibleText(page, `${entry(ids.hidden)} .badge`)).toBe("taken out of the context");
    await page.click(`#tree a:has-text("Please make the parameter")`);
    await page.waitForSelector(entry(ids.secondQuestion));
    expect(await page.getAttribute(`#tree li:has-text("Please make")`, "class")).toContain("on");
    await page.goBack();
    await page.waitForSelector("text=first branch");

    const { page: other } = await open(readable, { hash: `#e-${ids.firstAnswer}` });
    await inView(other, entry(ids.firstAnswer));
    expect(await other.getAttribute(`${entry(ids.firstAnswer)} a.anchor`, "href")).toBe(`#e-${ids.firstAnswer}`);
  });

  test("finds words in all branches and opens the fold that hides them", async () => {
    const { page, trouble } = await open(readable);
    await page.keyboard.press("/");
    await page.keyboard.type("needle-in");
    await page.waitForFunction(() => document.getElementById("search-status")?.textContent === "1 found");
    expect(await visibleText(page, "#results")).toContain("needle-in-output");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`${entry(ids.look)} .term:visible`);
    expect(await visibleText(page, "#search-status")).toBe("1 of 1");
    await page.fill("#search", "first branch");
    await page.waitForFunction(() => document.getElementById("search-status")?.textContent === "1 found");
    await page.click("#results a");
    await page.waitForSelector(`${entry(ids.firstAnswer)}`);
    await page.fill("#search", "Intl.Locale");
    await page.waitForFunction(() => document.getElementById("search-status")?.textContent === "1 found");
    await page.fill("#search", "not there at all");
    await page.waitForFunction(() => document.getElementById("search-status")?.textContent === "Nothing found");
    await page.press("#search", "Escape");
    expect(await page.isVisible("#tree")).toBe(true);
    expect(trouble).toEqual([]);
  });

  test("draws tokens and cost, for the mouse and for the keyboard", async () => {
    const { page } = await open(readable);
    expect(await page.locator("#plot polygon.context").count()).toBe(1);
    expect(await page.locator("#plot polyline.cost").count()).toBe(1);
    await page.focus("#plot");
    await page.keyboard.press("Home");
    expect(await page.getAttribute("#plot", "aria-valuetext")).toBe("Answer 1: 2.5k tokens in, 250 out, $0.0053 so far");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await inView(page, entry(ids.last));
    expect(new URL(page.url()).hash).toBe(`#e-${ids.last}`);
  });

  test("is used with the keyboard", async () => {
    const { page } = await open(readable);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(new URL(page.url()).hash).toBe(`#e-${ids.look}`);
    await page.keyboard.press("k");
    expect(new URL(page.url()).hash).toBe(`#e-${ids.question}`);
    await page.keyboard.press("e");
    expect(await page.locator("details.thinking").first().getAttribute("open")).toBe("");
    await page.keyboard.press("t");
    expect(await page.isVisible("#side")).toBe(false);
    await page.keyboard.press("?");
    expect(await page.isVisible("#help")).toBe(true);
    await page.keyboard.press("Escape");
    expect(await page.isVisible("#help")).toBe(false);
    await page.keyboard.press("d");
    await page.keyboard.press("d");
    expect(await page.getAttribute("html", "data-theme")).toBe("dark");
  });

  test("is light or dark as the reader's system, and fits a phone", async () => {
    const background = (page: Page) => page.evaluate(() => window.getComputedStyle(document.body).backgroundColor);
    const { page: light } = await open(readable, { colorScheme: "light" });
    const { page: dark } = await open(readable, { colorScheme: "dark" });
    expect(await background(light)).toBe("rgb(251, 250, 248)");
    expect(await background(dark)).toBe("rgb(22, 24, 26)");
    const { page: phone } = await open(readable, { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
    await phone.click("#folds");
    expect(await phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0);
    expect(await phone.isVisible("#side")).toBe(false);
    await phone.click("#pane");
    await phone.click(`#tree a:has-text("Here is how it looks")`);
    expect(await phone.isVisible("#side")).toBe(false);
  });

  test("prints all of the branch and nothing around it", async () => {
    const { page } = await open(readable, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    expect(await page.isVisible(".bar")).toBe(false);
    expect(await page.isVisible("#side")).toBe(false);
    expect(await page.evaluate(() => window.getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
    expect(await visibleText(page, "#conversation")).toContain("That is the expected grid.");
    expect((await page.pdf()).length).toBeGreaterThan(5000);
  });

  test("lets nothing of a hostile session act", async () => {
    const size = (isLong ? 50 : 5) * 1024 * 1024;
    const path = await exportTo("hostile", hostileSession(size).save(join(folder, "hostile.jsonl")));
    expect(statSync(path).size).toBeLessThan(4 * 1024 * 1024);
    const { page, trouble } = await open(path);
    await page.click("#folds");
    const shown = await page.evaluate(() => document.getElementById("conversation")?.textContent ?? "");
    const wanted = ['<img src=x onerror="window.pwned=1">', "end-of-attack", "begin-of-log", "end-of-log", "characters are not shown", "the last word"];
    expect(wanted.filter((part) => !shown.includes(part))).toEqual([]);
    const state = await page.evaluate(() => ({
      pwned: "pwned" in window,
      links: [...document.querySelectorAll("#conversation a[href]")]
        .map((link: any) => link.getAttribute("href") ?? "")
        .filter((href: string) => !/^(?:https:|mailto:|#e-)/.test(href)),
      elements: document.querySelectorAll("#conversation :is(script, svg, iframe, style, object, b)").length,
      images: [...document.querySelectorAll("#conversation img")].filter((image: any) => !image.getAttribute("src")?.startsWith("data:image/")).length,
      handlers: [...document.querySelectorAll("#conversation *")].filter((one: any) => [...one.attributes].some(({ name }) => name.startsWith("on"))).length,
    }));
    expect(state).toEqual({ pwned: false, links: [], elements: 0, images: 0, handlers: 0 });
    expect(await page.locator("#conversation .ansi-red").first().textContent()).toBe("red");
    await page.fill("#search", "end-of-attack");
    await page.waitForFunction(() => /found$/.test(document.getElementById("search-status")?.textContent ?? ""));
    expect(trouble).toEqual([]);
  });

  test("says in its policy that nothing else may run or load", async () => {
    const { page } = await open(readable);
    const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'$/);
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.injected = true";
      document.body.append(script);
      return "injected" in window;
    });
    expect(ran).toBe(false);
  });

  test("opens a long session at once and keeps few elements", async () => {
    const count = isLong ? 20_000 : 2_000;
    await longSession(join(folder, "long.jsonl"), count);
    const path = await exportTo("long", join(folder, "long.jsonl"));
    const { page, trouble } = await open(path);
    const elements = () => page.evaluate(() => document.querySelectorAll("#conversation *").length);
    expect(await elements()).toBeLessThan(8_000);
    await page.keyboard.press("G");
    await page.waitForSelector(`text=Done with ${count - 1}.`);
    await page.fill("#search", `module ${count / 2} do`);
    await page.waitForFunction(() => document.getElementById("search-status")?.textContent === "1 found");
    await page.press("#search", "Enter");
    await inView(page, entry(`n${count / 2}`));
    for (let step = 0; step < 60; step++) {
      await page.evaluate(() => window.scrollBy(0, 3000));
      await page.evaluate(() => new Promise((resolve) => window.requestAnimationFrame(resolve)));
    }
    expect(await elements()).toBeLessThan(45 * 24 * 40);
    expect(trouble).toEqual([]);
  });

  test("has no serious finding of axe in light, dark and on a phone", async () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    for (const options of [{ colorScheme: "light" as const }, { colorScheme: "dark" as const }, { viewport: { width: 390, height: 844 } }]) {
      const { page } = await open(readable, { reducedMotion: "reduce", ...options });
      await page.click("#folds");
      await page.evaluate(axe);
      const findings = await page.evaluate(async () => {
        const { violations }: { violations: { id: string; impact: string; nodes: { html: string }[] }[] } = await (
          window as unknown as { axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }
        ).axe.run();
        return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
      });
      expect(findings).toEqual([]);
    }
  });
});
