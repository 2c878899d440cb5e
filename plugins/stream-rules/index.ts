/** Stream rules: what the model writes is watched; a broken rule stops the stream, and the model tries again knowing the rule. */
import { Type } from "typebox";
import { type CustomMessage, definePlugin, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import type { TriggeredRule } from "./contract.ts";
import { RuleLoader } from "./load.ts";
import { StreamMatcher } from "./matcher.ts";
import type { Rule } from "./rule.ts";

export const streamRules = definePlugin({
  name: "stream-rules",
  apply(kernel) {
    const loader = new RuleLoader(kernel);
    /** interruptions left in this prompt, by rule */
    let left = new Map<Rule, number>();
    let matcher: StreamMatcher | undefined;
    /** rules that stopped the message which is ending now */
    let broken: Rule[] = [];

    const watch = () => {
      const rules = [...left.keys()].filter((rule) => (left.get(rule) ?? 0) > 0);
      matcher = rules.length > 0 ? new StreamMatcher(rules) : undefined;
    };

    kernel.hooks.beforeRun.tap(kernel.name, async () => {
      left = new Map((await loader.load()).map((rule) => [rule, rule.limit]));
      broken = [];
      watch();
    });

    kernel.hooks.increment.tap(kernel.name, (event) => {
      if (!matcher || broken.length > 0) return;
      broken = matcher.feed(event);
      if (broken.length === 0) return;
      for (const rule of broken) left.set(rule, (left.get(rule) ?? 1) - 1);
      kernel.emit({ type: "ttsr_triggered", rules: broken.map(describe) });
      return "stop";
    });

    kernel.hooks.afterRun.tap({ name: kernel.name, stage: Stage.open }, ({ status }) => {
      const stopped = broken;
      broken = [];
      if (stopped.length === 0 || status !== "aborted") return;
      watch();
      hideStoppedMessage(kernel);
      kernel.queue.addFirst("steer", { message: injection(stopped) });
      return "continue";
    });

    kernel.registry("events").add({
      name: "ttsr_triggered",
      schema: () =>
        Type.Object({
          type: Type.Literal("ttsr_triggered"),
          rules: Type.Array(Type.Object({ name: Type.String(), description: Type.Optional(Type.String()), path: Type.Optional(Type.String()) }), {
            minItems: 1,
          }),
        }),
    });
  },
});

/** Takes the message that broke the rule out of the context; it stays in the file. */
function hideStoppedMessage(kernel: PluginKernel): void {
  const session = kernel.tryService("session");
  let id = session?.leafId() ?? null;
  while (session && id !== null) {
    const entry = session.entry(id);
    if (entry?.type === "message" && entry.message.role === "assistant") {
      session.appendAnnounced({ type: "context_edit", targetId: entry.id, replacement: null });
      return;
    }
    id = entry?.parentId ?? null;
  }
}

function describe({ name, description, path }: Rule): TriggeredRule {
  return { name, ...(description !== undefined && { description }), ...(path !== undefined && { path }) };
}

function injection(rules: Rule[]): CustomMessage {
  const texts = rules.map(({ name, text }) => `<rule name="${name}">\n${text}\n</rule>`);
  return {
    role: "custom",
    customType: "ttsr-injection",
    display: false,
    content: `Your last answer was stopped while you wrote it, because it broke ${rules.length === 1 ? "a rule" : "rules"}. It has been taken out of the conversation.\n\n${texts.join("\n\n")}\n\nAnswer again and keep to ${rules.length === 1 ? "this rule" : "these rules"}.`,
    details: { rules: rules.map(describe) },
    timestamp: Date.now(),
  };
}

export default [streamRules];
