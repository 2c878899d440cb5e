/** The agent in the browser, in a real one: streaming, tools, dialogs, the tree, reloads, and who is refused. */
import { spawn } from "node:child_process";
import { request } from "node:http";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { chromiumPath, launchChromium, noChromium } from "./helpers/chromium.ts";
import { installedExamples } from "./helpers/examples.ts";
import { type PiOptions, preparePlaces, programPath } from "./helpers/pi.ts";

interface Served {
  url: string;
  port: number;
  token: string;
}

/** Starts the example; answers the address it prints. */
async function serve(options: PiOptions): Promise<Served> {
  const examples = installedExamples();
  const { cwd, env, args } = preparePlaces(options);
  const child = spawn(process.execPath, [join(examples, "web/server.mjs"), "-e", join(examples, "extensions/ask.ts"), ...args], {
    cwd,
    env: { ...env, PI: programPath },
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGTERM");
    await closed;
  });
  let output = "";
  child.stderr.on("data", (text) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once("close", () => reject(new Error(output)));
    child.stdout.on("data", (text) => {
      output += text;
      const [, url, port, token] = /Open (http:\/\/127\.0\.0\.1:(\d+)\/#(\S+))/.exec(output) ?? [];
      if (url) resolve({ url, port: Number(port), token: String(token) });
    });
  });
}

/** One request with exactly these headers. */
function ask({ port }: Served, path: string, headers: Record<string, string> = {}, body?: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method: body === undefined ? "GET" : "POST", headers }, (response) => {
      const end = (text: string) => resolve({ status: response.statusCode ?? 0, text });
      // The stream of events has no end: its first piece is enough.
      if (path === "/api/events" && response.statusCode === 200) {
        response.once("data", (piece) => {
          end(String(piece));
          sent.destroy();
        });
        return;
      }
      let text = "";
      response.on("data", (piece) => {
        text += piece;
      });
      response.on("end", () => end(text));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function open({ url }: Served, colorScheme: "light" | "dark" = "light", width = 1100): Promise<Page> {
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 760 } });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  onTestFinished(() => expect(errors).toEqual([]));
  await page.goto(url);
  await page
    .getByRole("status")
    .filter({ hasText: /Ready|Working/ })
    .waitFor();
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.keyboard.press("Enter");
}

const ready = (page: Page) => page.getByRole("status").filter({ hasText: "Ready" }).waitFor();
const picture = (page: Page, name: string) =>
  process.env.PI_TEST_PICTURES ? page.screenshot({ path: join(process.env.PI_TEST_PICTURES, `${name}.png`) }) : undefined;

describe("who is refused", () => {
  test("no token, a wrong one, another origin, another host", async () => {
    const served = await serve({ script: ["x"] });
    const own = `127.0.0.1:${served.port}`;
    const good = { authorization: `Bearer ${served.token}` };
    const json = { "content-type": "application/json" };
    const prompt = JSON.stringify({ message: "hi" });
    expect((await ask(served, "/api/events")).status).toBe(401);
    expect((await ask(served, "/api/events", { authorization: "Bearer wrong" })).status).toBe(401);
    expect((await ask(served, `/api/events?token=${served.token}`)).status).toBe(401);
    expect((await ask(served, "/api/prompt", json, prompt)).status).toBe(401);
    expect((await ask(served, "/api/events", { ...good, origin: "http://evil.example" })).status).toBe(403);
    expect((await ask(served, "/api/events", { ...good, origin: "null" })).status).toBe(403);
    expect((await ask(served, "/api/prompt", { ...good, ...json, origin: `http://127.0.0.1:${served.port + 1}` }, prompt)).status).toBe(403);
    expect((await ask(served, "/", { host: `evil.example:${served.port}` })).status).toBe(403);
    expect((await ask(served, "/api/events", { ...good, host: "evil.example" })).status).toBe(403);
    expect((await ask(served, "/../server.mjs", good)).status).toBe(404);
    expect((await ask(served, "/api/constructor", { ...good, ...json }, "{}")).status).toBe(404);
    expect((await ask(served, "/api/prompt", { ...good, "content-type": "text/plain" }, prompt)).status).toBe(400);
    expect((await ask(served, "/api/prompt", { ...good, ...json }, "x".repeat(2_000_000))).status).toBe(413);
    // The right one comes through, and nothing of the above has reached the agent.
    const { status, text } = await ask(served, "/api/events", { ...good, origin: `http://${own}` });
    expect(status).toBe(200);
    expect(text).toContain('"items":[]');
  });
});

describe.skipIf(!chromiumPath)(`in Chromium${chromiumPath ? "" : `: ${noChromium}`}`, () => {
  test("streaming, tools, dialogs, the tree", async () => {
    const served = await serve({
      files: { "a.txt": "apples\n" },
      script: [
        { thinking: "The user greets me.", text: ["Good ", "day. ", "What shall we do?"] },
        { text: "I read it.", toolCalls: [{ name: "read", arguments: { path: "a.txt" } }] },
        { text: "It is about **apples**.\n\n- one\n- two", toolCalls: [{ name: "bash", arguments: { command: "echo from the shell" } }] },
        "Done.",
        "Another answer.",
      ],
    });
    const page = await open(served);
    // The token is not left in the address.
    expect(page.url()).not.toContain(served.token);
    const log = page.getByRole("log");
    await say(page, "Hello");
    await log.getByText("Good day. What shall we do?").waitFor();
    await say(page, "What is in a.txt?");
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
    expect(await page.getByRole("dialog").textContent()).toContain("echo from the shell");
    await picture(page, "web-dialog");
    await page.getByRole("button", { name: "Yes" }).click();
    await log.getByText("Done.").waitFor();
    await ready(page);
    expect(await page.getByRole("dialog").count()).toBe(0);
    const tool = log.locator(".tool", { hasText: "bash" });
    await tool.locator("summary").click();
    await tool.locator("pre").getByText("from the shell").waitFor();
    await picture(page, "web-light");

    await say(page, "/ask");
    await page.getByRole("dialog", { name: "What would you like?" }).getByRole("button", { name: "tea" }).click();
    await page.getByRole("dialog", { name: "Hot?" }).getByRole("button", { name: "No" }).click();
    await page.getByRole("dialog", { name: "For whom?" }).getByRole("textbox").fill("Ada");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "A note" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("iced tea for Ada: -").waitFor();

    // Back to the second message: its text comes into the field, and the answer to another one is a branch.
    const tree = page.getByRole("navigation", { name: "Session tree" });
    await tree.getByRole("button", { name: "What is in a.txt?" }).click();
    await log.getByText("Done.").waitFor({ state: "detached" });
    expect(await page.getByLabel("Message").inputValue()).toBe("What is in a.txt?");
    await say(page, "Something else");
    await log.getByText("Another answer.").waitFor();
    await tree.getByRole("button", { name: "Something else" }).waitFor();
    expect(await tree.locator(".on-path").allTextContents()).toEqual(["Hello", "Good day. What shall we do?", "Something else", "Another answer."]);
    await picture(page, "web-tree");

    // The page's policy allows no foreign script; this one is put in by the debugger.
    const { default: axe } = await import("axe-core");
    const result = await page.evaluate(async (source) => {
      const { violations, passes } = await new Function(`${source}; return axe.run();`)();
      return { rules: passes.length, violations: violations.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) => [id, nodes[0]?.html]) };
    }, axe.source);
    expect(result).toEqual({ rules: expect.any(Number), violations: [] });
    expect(result.rules).toBeGreaterThan(10);
  });

  test("a reload in the middle of a run, and a second page, show the same", async () => {
    const pieces = Array.from({ length: 60 }, (_, index) => `word${index} `);
    const served = await serve({ script: [{ steps: [{ text: pieces, delayMs: 50 }] }] });
    const page = await open(served, "dark");
    await say(page, "Count");
    const log = page.getByRole("log");
    await log.getByText("word5 ").waitFor();
    await page.reload();
    await log.getByText("word5 ").waitFor();
    expect(await page.getByRole("status").textContent()).toContain("Working");
    const other = await open(served, "dark", 400);
    await log.getByText("word20 ").waitFor();
    await page.reload();
    await ready(page);
    await ready(other);
    for (const each of [page, other]) {
      expect(await each.locator(".user").allTextContents()).toEqual(["Count"]);
      expect(await each.locator(".assistant .text").allTextContents()).toEqual([pieces.join("")]);
    }
    await picture(page, "web-dark");
    await picture(other, "web-phone");
    // Nothing sticks out on a phone.
    expect(await other.evaluate("document.documentElement.scrollWidth")).toBe(400);
    expect((await other.getByRole("button", { name: "Send" }).boundingBox())?.x).toBeLessThan(340);
    await other.getByRole("button", { name: "Session" }).click();
    await other.getByRole("navigation", { name: "Session tree" }).getByText("Count").waitFor();
  });

  test("an open dialog survives a reload; stopping stops", async () => {
    const served = await serve({ script: [{ toolCalls: [{ name: "bash", arguments: { command: "echo once" } }] }, { text: ["and ", "so on"], hang: true }] });
    const page = await open(served);
    await say(page, "Go");
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
    await page.reload();
    await page.getByRole("dialog", { name: "Run this command?" }).getByRole("button", { name: "No" }).click();
    await page.getByRole("log").getByText("The user declined.").waitFor();
    await page.getByRole("log").getByText("and so on").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await ready(page);
    await page.getByRole("button", { name: "New" }).click();
    await page.getByRole("log").getByText("and so on").waitFor({ state: "detached" });
  });

  test("hostile output is text", async () => {
    const hostile = `</div><script>window.owned = 1</script><img src=x onerror="window.owned = 2"><a href="javascript:window.owned=3">click</a>`;
    const served = await serve({
      files: { "evil.txt": hostile },
      script: [
        { thinking: hostile, text: hostile, toolCalls: [{ name: "read", arguments: { path: "evil.txt" } }] },
        { toolCalls: [{ name: "bash", arguments: { command: hostile } }] },
        { error: hostile },
      ],
    });
    const page = await open(served);
    await say(page, hostile);
    await page.getByRole("dialog").getByRole("button", { name: "No" }).click();
    await ready(page);
    for (const place of [".user", ".assistant .text", ".thinking div", ".tool pre", ".assistant .error"]) {
      expect((await page.locator(place).allTextContents()).join("\n")).toContain(hostile);
    }
    expect(await page.locator("img, main a, main script").count()).toBe(0);
    expect(await page.evaluate("window.owned")).toBeUndefined();
    await page.reload();
    await page.locator(".tool").first().waitFor();
    expect(await page.evaluate("window.owned")).toBeUndefined();
  });

  test("without the token the page says what it needs", async () => {
    const served = await serve({ script: ["x"] });
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${served.port}/`);
    await page.getByText("This page needs the address that the server printed.").waitFor();
  });
});
