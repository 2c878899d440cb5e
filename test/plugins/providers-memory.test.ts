/** Requests of a conversation are encoded from what the request before left. */
import { expect, test } from "vitest";
import type { LlmMessage } from "../../core/index.ts";
import { Conversations, rememberedJson } from "../../plugins/providers/shared/memory.ts";
import { targetOf } from "../../plugins/providers/shared/target.ts";

/** Numbers that look like chance and are the same in every run. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

test("the bytes are those of the payload, whatever became of the list, and stay what they were", () => {
  const random = chance(7);
  const sizes = [0, 10, 100, 5000, 70_000];
  const item = (name: string) => ({ role: "user", content: `${name} ü😀 "${"x".repeat(sizes[random(sizes.length)] as number)}` });
  const lists = [[item("a0"), item("a1")], [item("b0"), item("b1")], []] as object[][];
  const handedOut: { parts: Buffer[]; text: string }[] = [];
  for (let round = 0; round < 300; round++) {
    const list = lists[random(lists.length)] as object[];
    const what = random(10);
    // New at the end, a new beginning, a step back, another end.
    if (what < 6) list.push(item(`${round}`));
    else if (what < 8) list[0] = item(`first ${round}`);
    else if (what < 9) list.splice(2 + random(list.length));
    else if (list.length > 2) list[list.length - 1] = item(`last ${round}`);
    const payload = { model: "m", absent: undefined, messages: [...list], tools: [], stop: ["x"], stream: true };
    const parts = rememberedJson(payload);
    const text = JSON.stringify(payload);
    expect(Buffer.concat(parts).toString("utf8")).toBe(text);
    handedOut.push({ parts, text });
  }
  for (const { parts, text } of handedOut.slice(-50)) expect(Buffer.concat(parts).toString("utf8")).toBe(text);
  expect(Buffer.concat(rememberedJson({})).toString("utf8")).toBe("{}");
});

test("an SDK is asked for an address once, and for another one again", async () => {
  let asked = 0;
  const target = (name: string) =>
    targetOf(`memory test ${name}`, async (fetch) => {
      asked++;
      await fetch(`http://127.0.0.1/${name}`, { headers: { "X-Name": name } });
    });
  const expected = (name: string) => ({ url: `http://127.0.0.1/${name}`, headers: { "x-name": name } });
  for (const name of ["a", "a", "b", "a"]) expect(await target(name)).toEqual(expected(name));
  expect(asked).toBe(2);
  for (let count = 0; count < 40; count++) expect(await target(`${count}`)).toEqual(expected(`${count}`));
  await expect(targetOf("memory test none", async () => undefined)).rejects.toThrow("sent no request");
  await expect(targetOf("memory test failed", () => Promise.reject(new Error("no header")))).rejects.toThrow("no header");
});

test("a conversation is made from where it was, also in a list that its owner changes", () => {
  const conversations = new Conversations<string>();
  const user = (content: string): LlmMessage => ({ role: "user", content, timestamp: 0 });
  const answer = { role: "assistant", content: [] } as unknown as LlmMessage;
  const asked: number[] = [];
  const spelled = (messages: LlmMessage[], key = "") =>
    conversations.of(messages, key, (made, from) => {
      asked.push(from);
      for (const message of messages.slice(from)) made.push(message.role === "user" ? String(message.content) : message.role);
    });
  const list = [user("a")];
  expect(spelled(list)).toEqual(["a"]);
  list.push(answer, user("b"));
  const whole = spelled(list);
  expect(whole).toEqual(["a", "assistant", "b"]);
  whole.push("of the caller");
  list.push(answer);
  expect(spelled(list)).toEqual(["a", "assistant", "b", "assistant"]);
  expect(asked).toEqual([0, 1, 3]);
  // What does not begin with an answer may change what came before; so do another key and another branch.
  expect(spelled([...list, user("c")])).toEqual(["a", "assistant", "b", "assistant", "c"]);
  expect(spelled(list, "other")).toEqual(["a", "assistant", "b", "assistant"]);
  expect(spelled([list[0] as LlmMessage, user("d")], "other")).toEqual(["a", "d"]);
  expect(asked.slice(3)).toEqual([0, 0, 0]);
});
