/** What extensions send from handlers that look at a prompt or at the end of a run. */
import { expect, test } from "vitest";
import { command, errors, notices, startWith } from "../extensions/helpers.ts";
import type { Frame } from "../helpers/pi.ts";

/** Roles and texts of the messages among frames, in their order. */
function conversation(frames: readonly Frame[]): string[] {
  return frames
    .filter(({ type }) => type === "message_end")
    .map(
      ({ message: { role, content } }) =>
        `${role}: ${typeof content === "string" ? content : content.map(({ text }: { text?: string }) => text ?? "").join("")}`,
    );
}

test("an input handler that takes a prompt may send something else in its place", async () => {
  const rpc = startWith({
    "instead.ts": `export default (pi: any) => pi.on("input", ({ text, source }: any) => {
      if (source === "extension") return;
      if (text === "as user") pi.sendUserMessage("expanded");
      else if (text === "as custom") pi.sendMessage({ customType: "c", content: "custom", display: true }, { triggerTurn: true });
      else if (text === "as note") pi.sendMessage({ customType: "c", content: "note", display: true });
      else return;
      return { action: "handled" };
    });`,
  });
  for (const [text, sent] of [
    ["as user", "user: expanded"],
    ["as custom", "custom: custom"],
  ] as const) {
    const from = rpc.frames.length;
    await rpc.ask("prompt", { message: text });
    await rpc.find(({ type }) => type === "agent_settled", from);
    expect(conversation(rpc.frames.slice(from))).toEqual([sent, "assistant: fine"]);
  }
  const from = rpc.frames.length;
  await rpc.ask("prompt", { message: "as note" });
  const after = await rpc.prompt("go on");
  expect(conversation(rpc.frames.slice(from))).toEqual(["custom: note", "user: go on", "assistant: fine"]);
  expect(conversation(after).at(-1)).toBe("assistant: fine");
  expect(errors(rpc)).toEqual([]);
});

test("what would compete with the prompt that is looked at joins its run", async () => {
  const rpc = startWith({
    "beside.ts": `export default (pi: any) => {
      for (const event of ["input", "before_agent_start"]) {
        pi.on(event, ({ text, prompt }: any) => {
          if ((text ?? prompt) !== event) return;
          pi.sendMessage({ customType: "c", content: "steering", display: true }, { triggerTurn: true });
          pi.sendUserMessage("more", { deliverAs: "followUp" });
          pi.sendUserMessage("lost");
        });
      }
    };`,
  });
  for (const event of ["input", "before_agent_start"]) {
    const frames = await rpc.prompt(event);
    expect(conversation(frames)).toEqual([`user: ${event}`, "custom: steering", "assistant: fine", "user: more", "assistant: fine"]);
  }
  expect(errors(rpc)).toMatchObject([{ event: "send_user_message" }, { event: "send_user_message" }]);
});

test("while a prompt is looked at the agent is idle and has no signal", async () => {
  const rpc = startWith({
    "look.ts": `export default (pi: any) => {
      for (const event of ["input", "before_agent_start", "agent_start", "agent_end", "agent_settled"])
        pi.on(event, (_: any, ctx: any) => ctx.ui.notify([event, ctx.isIdle(), ctx.signal !== undefined].join(" ")));
    };`,
  });
  await rpc.prompt("hello");
  expect(notices(rpc)).toEqual([
    "input true false",
    "before_agent_start true false",
    "agent_start false true",
    "agent_end false true",
    "agent_settled true false",
  ]);
});

test("a message for the next turn that is sent in before_agent_start follows the prompt that is looked at", async () => {
  const rpc = startWith({
    "next.ts": `export default (pi: any) => {
      pi.on("before_agent_start", ({ prompt }: any) => {
        if (prompt === "one") pi.sendMessage({ customType: "c", content: "next", display: true }, { deliverAs: "nextTurn" });
        return { message: { customType: "c", content: "injected", display: true } };
      });
    };`,
  });
  expect(conversation(await rpc.prompt("one"))).toEqual(["user: one", "custom: next", "custom: injected", "assistant: fine"]);
  expect(conversation(await rpc.prompt("two"))).toEqual(["user: two", "custom: injected", "assistant: fine"]);
});

test("a message without a turn that is sent at the end of a run is behind that run", async () => {
  const rpc = startWith({
    "note.ts": `export default (pi: any) => {
      pi.on("agent_end", () => pi.sendMessage({ customType: "c", content: "note", display: true }, { triggerTurn: false }));
      pi.registerCommand("branch", { handler: (_: string, ctx: any) => ctx.ui.notify(ctx.sessionManager.getBranch().map((e: any) => e.message?.role ?? e.customType ?? "").filter(Boolean).join(" ")) });
    };`,
  });
  await rpc.prompt("one");
  expect(await command(rpc, "/branch")).toEqual(["user assistant c"]);
});
