/** Exporting: the file that is written, what is kept out of it, and what clients and the command line see. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { exportPage } from "../../plugins/export-html/export.ts";
import { renderMarkdown } from "../../plugins/export-html/render/markdown.ts";
import { renderTerminal } from "../../plugins/export-html/render/terminal.ts";
import { fileSource } from "../../plugins/export-html/source.ts";
import { PageFile } from "../../plugins/export-html/target.ts";
import { runPi, startRpc, tempDir } from "../helpers/pi.ts";
import { readableSession, SessionBuilder, text } from "./export-html.session.ts";

async function exportFile(sessionFile: string, path: string, secrets: string[] = []): Promise<string> {
  const file = await PageFile.create(path, "/");
  try {
    await exportPage(await fileSource(sessionFile), file, { secrets, generator: "pi test" });
    await file.finish();
  } catch (error) {
    await file.discard();
    throw error;
  }
  return readFileSync(file.path, "utf8");
}

test("secrets that the agent knows are masked wherever they stand", async () => {
  const folder = tempDir();
  const secret = 'sk-zq9x7"secret\\key';
  const session = new SessionBuilder({ cwd: `/home/${secret}` });
  session.user(`My key is ${secret}, keep it.`);
  session.assistant(text(`\`${secret}\``), { type: "toolCall", id: "c", name: "bash", arguments: { command: `curl -H ${secret}`, [secret]: 1 } });
  session.result("c", "bash", `${secret}\n`, { details: { diff: `+ ${secret}` } });
  session.add({ type: "session_info", name: `About ${secret}` });
  const page = await exportFile(session.save(join(folder, "s.jsonl")), join(folder, "s.html"), [secret, "short"]);
  expect(page.includes("zq9x7")).toBe(false);
  expect(page.includes("My key is ••••••••, keep it.")).toBe(true);
});

test("a page is replaced as a whole, and a failure leaves the old one", async () => {
  const folder = tempDir();
  const { session } = readableSession();
  const good = session.save(join(folder, "good.jsonl"));
  writeFileSync(join(folder, "empty.jsonl"), `${session.lines[0]}\n`);
  const page = join(folder, "page.html");
  writeFileSync(page, "old");
  await expect(exportFile(join(folder, "empty.jsonl"), page)).rejects.toThrow("Nothing to export yet - start a conversation first");
  expect(readFileSync(page, "utf8")).toBe("old");
  await exportFile(good, page);
  expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>/);
  symlinkSync(page, join(folder, "link.html"));
  writeFileSync(page, "old");
  await exportFile(good, join(folder, "link.html"));
  expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>/);
  await exportFile(good, "/dev/null");
  expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

test("errors are the system's, about the path that was asked for", async () => {
  const folder = tempDir();
  const { session } = readableSession();
  const file = session.save(join(folder, "s.jsonl"));
  const missing = join(folder, "x/y.html");
  await expect(exportFile(file, missing)).rejects.toThrow(`ENOENT: no such file or directory, open '${missing}'`);
  await expect(exportFile(file, folder)).rejects.toThrow(`EISDIR: illegal operation on a directory, open '${folder}'`);
});

test("files of the first versions are read too, and nothing is written to them", async () => {
  const folder = tempDir();
  const lines = [
    { type: "session", id: "11111111-1111-4111-8111-111111111111", timestamp: "2025-11-20T10:00:00.000Z", cwd: "/tmp" },
    { type: "message", timestamp: "2025-11-20T10:00:01.000Z", message: { role: "user", content: "words of version one", timestamp: 1 } },
    {
      type: "message",
      timestamp: "2025-11-20T10:00:06.000Z",
      message: { role: "hookMessage", customType: "h", content: "from a hook", display: true, timestamp: 2 },
    },
  ];
  const source = lines.map((line) => JSON.stringify(line)).join("\n");
  writeFileSync(join(folder, "old.jsonl"), source);
  const page = await exportFile(join(folder, "old.jsonl"), join(folder, "old.html"));
  expect(page).toContain("words of version one");
  expect(page).toContain("from a hook");
  expect(readFileSync(join(folder, "old.jsonl"), "utf8")).toBe(source);
  writeFileSync(join(folder, "other.jsonl"), '{"type":"message"}\n');
  await expect(exportFile(join(folder, "other.jsonl"), join(folder, "other.html"))).rejects.toThrow("is not a valid session file");
});

test("Markdown keeps its meaning and loses its teeth", () => {
  expect(renderMarkdown("**a** <b>x</b> &amp; &lt; `<i>`")).toContain("<strong>a</strong> &lt;b&gt;x&lt;/b&gt; &amp; &lt; <code>&lt;i&gt;</code>");
  expect(renderMarkdown("[x](javascript:alert)")).toContain('<span class="dead-link">x</span>');
  expect(renderMarkdown("[x](https://a.b/?q=1&r=2)")).toContain('href="https://a.b/?q=1&amp;r=2"');
  expect(renderMarkdown("- [x] done")).toContain("☑");
  expect(renderMarkdown("# Big")).toContain('<h3 class="h1">Big</h3>');
});

test("terminal output keeps its colours and nothing else", () => {
  expect(renderTerminal("\u001b[1;31mred\u001b[0m <b>")).toBe('<span class="ansi-red ansi-bold">red</span> &lt;b&gt;');
  expect(renderTerminal("10%\r50%\r100%\r\ndone\u001b[2K\u001b]0;title\u0007\u0000")).toBe("100%\ndone");
  expect(renderTerminal("\u001b[38;5;2mg\u001b[38;2;1;2;3mt")).toBe('<span class="ansi-green">g</span><span class="ansi-green">t</span>');
});

test("export_html writes the open session where it is asked to, and by its own name otherwise", async () => {
  const rpc = startRpc({ script: { responses: ["An answer to show."] } });
  expect((await rpc.call("export_html")).error).toBe("Nothing to export yet - start a conversation first");
  expect((await rpc.call("export_html", { outputPath: "" })).error).toBe('Invalid parameter "outputPath": expected a non-empty string');
  await rpc.prompt("A question to show.");
  const { sessionFile } = await rpc.ask("get_state");
  const { path } = await rpc.ask("export_html");
  expect(path).toBe(join(rpc.places.cwd, `pi-session-${basename(sessionFile, ".jsonl")}.html`));
  expect(readFileSync(path, "utf8").includes("An answer to show.")).toBe(true);
  mkdirSync(join(rpc.places.cwd, "pages"));
  expect(await rpc.ask("export_html", { outputPath: "pages/one.html" })).toEqual({ path: join(rpc.places.cwd, "pages/one.html") });
  expect((await rpc.call("export_html", { outputPath: "/nowhere/at/all.html" })).error).toBe("ENOENT: no such file or directory, open '/nowhere/at/all.html'");
});

test("keys from the environment and from auth.json do not get into the page", async () => {
  const rpc = startRpc({
    env: { OPENAI_API_KEY: "sk-from-environment-1" },
    agentFiles: { "auth.json": JSON.stringify({ anthropic: { type: "api_key", key: "sk-from-a-file-2" } }) },
    script: { responses: ["You said sk-from-environment-1."] },
  });
  await rpc.prompt("My keys are sk-from-environment-1 and sk-from-a-file-2.");
  const page = readFileSync((await rpc.ask("export_html")).path, "utf8");
  expect(page.match(/sk-from-[\w-]+/g)).toBeNull();
  expect(page.includes("My keys are •••••••• and ••••••••.")).toBe(true);
});

test("a session in memory can be exported, also while the model answers", async () => {
  const rpc = startRpc({ args: ["--no-session"], script: { responses: ["First.", { text: ["Second", " answer"], hang: true }] } });
  await rpc.prompt("One");
  await rpc.ask("prompt", { message: "Two" });
  await rpc.find(({ type, assistantMessageEvent }) => type === "message_update" && assistantMessageEvent.delta === " answer");
  const { sessionId } = await rpc.ask("get_state");
  const { path } = await rpc.ask("export_html");
  expect(path).toBe(join(rpc.places.cwd, `pi-session-${sessionId}.html`));
  expect(readFileSync(path, "utf8")).toContain("Two");
  await rpc.call("abort");
});

test("pi --export writes a session file as a page", async () => {
  const cwd = tempDir();
  readableSession().session.save(join(cwd, "talk.jsonl"));
  const done = await runPi({ cwd, args: ["--export", "talk.jsonl"] });
  expect(done).toMatchObject({ status: 0, stdout: `Exported to: ${join(cwd, "pi-session-talk.html")}\n` });
  expect((await runPi({ cwd, args: ["--export", "talk.jsonl", "out.html"] })).status).toBe(0);
  expect(readFileSync(join(cwd, "out.html"), "utf8")).toContain("Week start in the date picker");
  expect((await runPi({ cwd, args: ["export", "talk.jsonl", "out2.html"] })).stdout).toBe(`Exported to: ${join(cwd, "out2.html")}\n`);
  const missing = await runPi({ cwd, args: ["--export", "missing.jsonl"] });
  expect(missing.status).toBe(1);
  expect(missing.stderr).toContain("ENOENT: no such file or directory");
  expect(missing.stdout).toBe("");
  expect(readdirSync(cwd).sort()).toEqual(["out.html", "out2.html", "pi-session-talk.html", "talk.jsonl"]);
});
