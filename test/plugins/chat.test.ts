import { execFileSync, spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { type PiOptions, preparePlaces, programPath, runPi, tempDir } from "../helpers/pi.ts";

const hasTerminal = (() => {
  try {
    execFileSync("script", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** The program on a terminal of its own. */
function openChat(options: PiOptions) {
  const { cwd, env, args } = preparePlaces(options);
  const command = [process.execPath, programPath, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qefc", command, "/dev/null"], { cwd, env: { ...env, TERM: "xterm" } });
  let screen = "";
  let wake = () => {};
  child.stdout.setEncoding("utf8").on("data", (text) => {
    screen += text;
    wake();
  });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    type: (keys: string) => child.stdin.write(keys),
    async until(text: string) {
      while (!screen.includes(text)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      screen = screen.slice(screen.indexOf(text) + text.length);
    },
    closed,
  };
}

describe.skipIf(!hasTerminal)("the chat (needs the program script for a terminal)", () => {
  it("streams answers, runs slash commands, and leaves with Ctrl-D", async () => {
    const greet =
      'export default (pi) => pi.registerCommand("greet", { description: "Says hello", handler: async (args, ctx) => ctx.ui.notify("Hello " + args) });';
    const agentFiles = { "extensions/greet.ts": greet, "skills/web/SKILL.md": "---\nname: web\ndescription: Searches\n---\nSearch." };
    const chat = openChat({ agentFiles, script: { responses: [{ text: ["Fine, ", "thanks."] }] } });
    await chat.until("> ");
    chat.type("How are you?\r");
    await chat.until("Fine, thanks.");
    await chat.until("> ");
    chat.type("/commands\r");
    await chat.until("/greet  Says hello");
    await chat.until("/skill:web  Searches");
    chat.type("/greet you\r");
    await chat.until("Hello you");
    chat.type("\u0004");
    expect(await chat.closed).toBe(0);
  });

  it("Ctrl-C aborts the run and keeps the chat, and a model cannot steer the terminal", async () => {
    const chat = openChat({ script: { responses: [{ text: "\u001b[2Jworking", hang: true }, "still here"] } });
    await chat.until("> ");
    chat.type("Go\r");
    await chat.until("[2Jworking");
    chat.type("\u0003");
    await chat.until("Request was aborted");
    await chat.until("> ");
    chat.type("Are you there?\r");
    await chat.until("still here");
    chat.type("\u0004");
    expect(await chat.closed).toBe(0);
  });

  it("--resume asks which session to continue, until the answer is one", async () => {
    const places = { home: tempDir(), cwd: tempDir() };
    for (const prompt of ["the older one", "the newer\u001b[2J one"]) await runPi({ ...places, args: ["-p", prompt], script: { responses: ["Yes."] } });
    const chat = openChat({ ...places, args: ["--resume"], script: { responses: [{ text: "Still here.", expect: { lastText: "go on", messageCount: 3 } }] } });
    await chat.until("1. ");
    await chat.until("the newer[2J one (2 messages)");
    await chat.until("2. ");
    await chat.until("the older one (2 messages)");
    await chat.until("nothing begins a new one");
    chat.type("7\r");
    await chat.until("nothing begins a new one");
    chat.type("2\r");
    await chat.until("> ");
    chat.type("go on\r");
    await chat.until("Still here.");
    chat.type("\u0004");
    expect(await chat.closed).toBe(0);
    const left = openChat({ ...places, args: ["-r"] });
    await left.until("nothing begins a new one");
    left.type("\u0003");
    await left.until("No session was chosen.");
    expect(await left.closed).toBe(1);
  });

  it("neither can what is asked about: a question shows the command as it is", async () => {
    const guard = `export default (pi) => pi.on("tool_call", async ({ input }, ctx) => {
      if (!(await ctx.ui.confirm("Run it?", input.command))) return { block: true, reason: "no" };
    });`;
    const command = "rm -rf precious\u001b[2K\r\u202els";
    const script = { responses: [{ toolCalls: [{ name: "bash", arguments: { command } }] }, "Never mind."] };
    const chat = openChat({ agentFiles: { "extensions/guard.ts": guard }, script });
    await chat.until("> ");
    chat.type("Go\r");
    await chat.until("Run it? rm -rf precious[2Kls [y/N]");
    chat.type("n\r");
    await chat.until("Never mind.");
    chat.type("\u0004");
    expect(await chat.closed).toBe(0);
  });

  it("nor an answer that is printed on a terminal; through a pipe it comes as it is", async () => {
    const options = { args: ["-p", "hi"], script: { responses: ["clear\u001b[2Jed"] } };
    await openChat(options).until("clear[2Jed");
    expect((await runPi(options)).stdout).toBe("clear\u001b[2Jed\n");
  });
});
