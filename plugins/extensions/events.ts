/** One row per event of the extension API: the hook it stands on, the payload it carries, and what becomes of the answers. */
import { type AgentEvent, type AgentMessage, messageOf, Stage, type ToolOutcome } from "../../core/index.ts";
import type {} from "../compaction/contract.ts";
import type {} from "../models/contract.ts";
import type {} from "../session/contract.ts";
import type {} from "../tools/contract.ts";
import type {} from "../user-bash/contract.ts";
import { assertContent, compactionOf, completed, isBlock, mended, repair } from "./answers.ts";
import { boundaryState, commitDrafts, takeBoundary } from "./boundary.ts";
import { checkedBlock } from "./content.ts";
import { assertJson } from "./json.ts";
import { customMessage } from "./messages.ts";
import type { Runtime } from "./runtime.ts";
import { shownMessage, shownResult } from "./shown.ts";

/** Taps what the event needs; the answer takes it back. */
type Row = (runtime: Runtime) => () => void;
const undone = () => {};

/** An event of the bus that extensions only watch. */
function observed<K extends AgentEvent["type"]>(
  type: K,
  payload: (event: Extract<AgentEvent, { type: K }>, runtime: Runtime) => object | undefined = ({ type: _, ...rest }) => rest,
): Row {
  return (runtime) =>
    runtime.kernel.hooks.event.tap(`extensions:${type}`, (event) => {
      if (event.type !== type) return undefined;
      const shown = payload(event as Extract<AgentEvent, { type: K }>, runtime);
      return shown && runtime.dispatcher.dispatch({ event: type, payload: { type, ...shown } });
    });
}

export const rows = {
  // ------------------------------------------------------------ start and session

  project_trust: (runtime: Runtime) => {
    const { kernel, dispatcher } = runtime;
    const trust = kernel.tryService("trust");
    if (!trust) return undone;
    return kernel.own(trust.hooks).asked.tap("extensions", async (cwd) => {
      let verdict: { trusted: boolean; remember?: boolean } | undefined;
      await dispatcher.dispatch({
        event: "project_trust",
        payload: { type: "project_trust", cwd },
        context(instance) {
          const { select, confirm, input, notify } = runtime.contextOf(instance).ui;
          return { cwd, mode: runtime.mode, hasUI: runtime.hasUi, ui: { select, confirm, input, notify } };
        },
        take({ trusted, remember }) {
          if (trusted !== "yes" && trusted !== "no") return false;
          verdict = { trusted: trusted === "yes", ...(remember === true && { remember: true }) };
          return true;
        },
      });
      return verdict;
    });
  },

  session_before_switch: ({ kernel, dispatcher }: Runtime) => {
    const session = kernel.tryService("session");
    if (!session) return undone;
    return kernel.own(session.hooks).beforeChange.tap("extensions", async ({ kind, targetFile }) => {
      if (kind === "fork") return undefined;
      const target = kind === "resume" && targetFile !== undefined ? { targetSessionFile: targetFile } : {};
      return isCancelled(dispatcher, { type: "session_before_switch", reason: kind, ...target });
    });
  },
  /** The former name of forking; it has the first word where the former command is used. */
  session_before_branch: ({ kernel, dispatcher }: Runtime) => {
    const session = kernel.tryService("session");
    if (!session) return undone;
    return kernel.own(session.hooks).beforeChange.tap({ name: "extensions", stage: Stage.commands }, async ({ via, entryId, position }) => {
      if (via !== "branch") return undefined;
      return isCancelled(dispatcher, { type: "session_before_branch", entryId, position: position ?? "before" });
    });
  },
  session_before_fork: ({ kernel, dispatcher }: Runtime) => {
    const session = kernel.tryService("session");
    if (!session) return undone;
    return kernel.own(session.hooks).beforeChange.tap("extensions", async ({ kind, entryId, position }) => {
      if (kind !== "fork") return undefined;
      return isCancelled(dispatcher, { type: "session_before_fork", entryId, position: position ?? "before" });
    });
  },
  session_before_tree: ({ kernel, dispatcher }: Runtime) => {
    const session = kernel.tryService("session");
    if (!session) return undone;
    return kernel.own(session.hooks).beforeTree.tap("extensions", async ({ signal, ...preparation }) => {
      let verdict: object | undefined;
      await dispatcher.dispatch({
        event: "session_before_tree",
        payload: { type: "session_before_tree", preparation, signal },
        take(answer) {
          assertJson(answer, "answer of a session_before_tree handler");
          if (answer.summary && typeof answer.summary.summary !== "string")
            throw new TypeError("A session_before_tree handler answered a summary without a text.");
          verdict = answer;
          return answer.cancel === true;
        },
      });
      return verdict;
    });
  },
  session_tree: ({ kernel, dispatcher }: Runtime) => {
    const session = kernel.tryService("session");
    if (!session) return undone;
    return kernel
      .own(session.hooks)
      .treeChanged.tap("extensions", (changed) => dispatcher.dispatch({ event: "session_tree", payload: { type: "session_tree", ...changed } }));
  },
  session_info_changed: ({ kernel, dispatcher }: Runtime) => {
    const session = kernel.tryService("session");
    if (!session) return undone;
    return kernel.own(session.hooks).nameChanged.tap("extensions", (name) => {
      void dispatcher.dispatch({ event: "session_info_changed", payload: { type: "session_info_changed", ...(name !== undefined && { name }) } });
    });
  },
  session_before_compact: ({ kernel, dispatcher }: Runtime) => {
    const compaction = kernel.tryService("compaction");
    if (!compaction) return undone;
    return kernel.own(compaction.hooks).before.tap("extensions", async (moment) => {
      let verdict: object | undefined;
      await dispatcher.dispatch({
        event: "session_before_compact",
        payload: { type: "session_before_compact", ...moment },
        take(answer) {
          verdict = { ...answer, ...(answer.compaction && { compaction: compactionOf(answer.compaction, moment.preparation) }) };
          return answer.cancel === true;
        },
      });
      return verdict;
    });
  },
  session_compact: ({ kernel, dispatcher }: Runtime) => {
    const compaction = kernel.tryService("compaction");
    if (!compaction) return undone;
    return kernel
      .own(compaction.hooks)
      .after.tap("extensions", (done) => dispatcher.dispatch({ event: "session_compact", payload: { type: "session_compact", ...done } }));
  },
  session_compact_failed: ({ kernel, dispatcher }: Runtime) => {
    const compaction = kernel.tryService("compaction");
    if (!compaction) return undone;
    return kernel
      .own(compaction.hooks)
      .failed.tap("extensions", (failure) => dispatcher.dispatch({ event: "session_compact_failed", payload: { type: "session_compact_failed", ...failure } }));
  },

  // ------------------------------------------------------------ a prompt on its way

  input: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.input.tap("extensions", async (draft) => {
      let isHandled = false;
      const payload: Record<string, unknown> = {
        type: "input",
        source: draft.source,
        ...(draft.streamingBehavior && { streamingBehavior: draft.streamingBehavior }),
      };
      const show = () => Object.assign(payload, { text: draft.text, ...(draft.images.length > 0 && { images: draft.images }) });
      await dispatcher.dispatch({
        event: "input",
        payload: show(),
        take({ action, text, images }) {
          isHandled = action === "handled";
          if (action !== "transform") return isHandled;
          if (typeof text !== "string") throw new TypeError("An input handler answered a transform without a text.");
          if (images && !Array.isArray(images)) throw new TypeError("An input handler answered images that are not an array.");
          draft.text = text;
          if (images) draft.images = images;
          show();
          return false;
        },
      });
      return isHandled ? "handled" : undefined;
    }),

  before_agent_start: (runtime: Runtime) =>
    runtime.kernel.hooks.beforeRun.tap({ name: "extensions", stage: Stage.expand }, async (run) => {
      if (!run.prompted) return;
      const service = runtime.kernel.tryService("systemPrompt");
      const options = run.systemPromptOptions ?? service?.options();
      if (options) run.systemPromptOptions = options;
      runtime.runPrompt = options;
      const toolsBefore = options?.selectedTools.join("\n");
      const before = { ...options };
      await runtime.dispatcher.dispatch({
        event: "before_agent_start",
        payload: {
          type: "before_agent_start",
          prompt: run.text,
          ...(run.images.length > 0 && { images: run.images }),
          get systemPrompt() {
            return run.systemPrompt ?? options?.forceSystemPrompt ?? (options && service ? service.render(options) : "");
          },
          systemPromptOptions: options,
        },
        take({ message, systemPrompt }) {
          if (message) run.messages.push(customMessage(message));
          if (typeof systemPrompt !== "string") return;
          if (options) options.forceSystemPrompt = systemPrompt;
          else run.systemPrompt = systemPrompt;
        },
      });
      if (options) repair(options, before);
      // A list that no handler touched follows the live one.
      const active = runtime.kernel.tryService("activeTools");
      if (options && active && options.selectedTools.join("\n") === toolsBefore) options.selectedTools = active.names();
    }),

  // ------------------------------------------------------------ the run

  agent_start: observed("agent_start"),
  agent_end: observed("agent_end", ({ messages }) => ({ messages: messages.map(shownMessage) })),
  agent_settled: (runtime: Runtime) =>
    runtime.kernel.hooks.event.tap("extensions:agent_settled", (event) => {
      if (event.type !== "agent_settled") return undefined;
      runtime.deferred = [];
      const release = () => {
        const waiting = runtime.deferred ?? [];
        runtime.deferred = undefined;
        // Not now: the event is still on its way to the wire.
        for (const start of waiting) queueMicrotask(start);
      };
      const pending = runtime.dispatcher.dispatch({ event: "agent_settled", payload: { type: "agent_settled" } });
      if (pending) return pending.finally(release);
      release();
      return undefined;
    }),
  agent_before_settle: (runtime: Runtime) =>
    runtime.kernel.hooks.boundary.tap({ name: "extensions", stage: Stage.expand }, async ({ at, status }) => {
      if (at !== "settle") return undefined;
      const state = boundaryState(runtime, status);
      runtime.isSettling = true;
      try {
        await runtime.dispatcher.dispatch({
          event: "agent_before_settle",
          payload: Object.assign(state, { type: "agent_before_settle" }),
          take: (answer) => takeBoundary(runtime, state, answer),
        });
      } finally {
        runtime.isSettling = false;
      }
      const goesOn = commitDrafts(runtime, state);
      return goesOn || !runtime.kernel.queue.isEmpty() ? ("continue" as const) : undefined;
    }),
  turn_start: (runtime: Runtime) => {
    let turnIndex = -1;
    return runtime.kernel.hooks.event.tap("extensions:turn_start", (event) => {
      if (event.type === "agent_start") turnIndex = -1;
      if (event.type !== "turn_start") return undefined;
      turnIndex++;
      return runtime.dispatcher.dispatch({ event: "turn_start", payload: { type: "turn_start", turnIndex, timestamp: Date.now() } });
    });
  },
  turn_end: (runtime: Runtime) =>
    runtime.kernel.hooks.turn.tap("extensions", async (turn) => {
      const { message, toolResults, turnIndex } = turn;
      const outcome = message.stopReason === "aborted" || message.stopReason === "error" ? message.stopReason : "completed";
      const state = boundaryState(runtime, outcome);
      const ids = entryIds(runtime, [message, ...toolResults]);
      const facts = {
        type: "turn_end",
        turnIndex,
        message: shownMessage(message),
        toolResults: toolResults.map(shownMessage),
        get messageEntryId() {
          return ids()[0];
        },
        get toolResultEntryIds() {
          return ids().slice(1);
        },
      };
      await runtime.dispatcher.dispatch({
        event: "turn_end",
        payload: Object.defineProperties(state, Object.getOwnPropertyDescriptors(facts)),
        take: (answer) => takeBoundary(runtime, state, answer),
      });
      if (commitDrafts(runtime, state)) turn.continue = true;
    }),
  message_start: observed("message_start", ({ message }, runtime) => (runtime.silent.has(message) ? undefined : { message: shownMessage(message) })),
  message_update: observed("message_update", ({ message, assistantMessageEvent }) => {
    const shown = shownMessage(message);
    return { message: shown, assistantMessageEvent: { ...assistantMessageEvent, partial: shown } };
  }),
  message_end: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.message.tap("extensions", async (message) => {
      const before = { ...message };
      const payload = { type: "message_end", message };
      let current = message;
      await dispatcher.dispatch({
        event: "message_end",
        payload,
        take({ message: replacement }) {
          if (!replacement) return;
          if (replacement.role !== message.role)
            throw new TypeError(`A message_end handler must keep the role "${message.role}"; it answered "${replacement.role}".`);
          assertJson(replacement, "message that a message_end handler answered");
          const complete = completed(message, replacement);
          assertContent(complete);
          current = complete;
          payload.message = complete;
        },
      });
      return mended(current, before);
    }),

  // ------------------------------------------------------------ a model call

  context: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.context.tap("extensions", async (messages) => {
      const payload = { type: "context", messages: structuredClone(messages) as AgentMessage[] };
      await dispatcher.dispatch({
        event: "context",
        payload,
        take({ messages: changed }) {
          if (changed === undefined) return;
          if (!Array.isArray(changed)) throw new TypeError("A context handler answered messages that are not an array.");
          if (!changed.every((message) => typeof message?.role === "string"))
            throw new TypeError("A context handler answered something that is not a message.");
          payload.messages = changed;
        },
      });
      // A handler may have put something else in its place.
      return Array.isArray(payload.messages) ? payload.messages : messages;
    }),
  context_with_system: (runtime: Runtime) => {
    const { kernel, dispatcher } = runtime;
    let replacement: string | undefined;
    const untap = [
      kernel.hooks.context.tap({ name: "extensions", stage: Stage.expand }, async (messages) => {
        const service = kernel.tryService("systemPrompt");
        const options = runtime.runPrompt ?? service?.options();
        const text = options?.forceSystemPrompt ?? (options && service ? service.render(options) : "");
        const system = { role: "system", content: text, timestamp: Date.now() } as unknown as AgentMessage;
        const payload = { type: "context_with_system", messages: [system, ...structuredClone(messages)] };
        await dispatcher.dispatch({
          event: "context_with_system",
          payload,
          take({ messages: changed }, instance) {
            if (!Array.isArray(changed)) return;
            payload.messages = changed;
            if (!isSystem(changed[0]))
              runtime.report(instance, "context_with_system", "The leading system message was removed; the request goes out without one.");
          },
        });
        const [first, ...rest] = payload.messages;
        const content = isSystem(first) ? (first as unknown as { content: unknown }).content : "";
        replacement = typeof content === "string" && content !== text ? content : undefined;
        return isSystem(first) ? rest : payload.messages;
      }),
      kernel.hooks.systemPrompt.tap({ name: "extensions", stage: Stage.listen }, () => {
        const prompt = replacement;
        replacement = undefined;
        return prompt;
      }),
    ];
    return () => {
      for (const undo of untap) undo();
    };
  },
  before_provider_headers: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.headers.tap("extensions", (headers) =>
      dispatcher.dispatch({ event: "before_provider_headers", payload: { type: "before_provider_headers", headers } }),
    ),
  before_provider_request: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.request.tap("extensions", async (payload) => {
      const event = { type: "before_provider_request", payload };
      await dispatcher.dispatch({
        event: "before_provider_request",
        payload: event,
        take(answer) {
          event.payload = answer;
        },
      });
      return event.payload;
    }),
  after_provider_response: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.response.tap("extensions", (response) =>
      dispatcher.dispatch({ event: "after_provider_response", payload: { type: "after_provider_response", ...response } }),
    ),

  // ------------------------------------------------------------ tools

  tool_execution_start: observed("tool_execution_start", ({ type: _, args, ...call }) => ({ ...call, args: structuredClone(args) })),
  tool_execution_update: observed("tool_execution_update", ({ type: _, partialResult, ...call }) => ({ ...call, partialResult: shownResult(partialResult) })),
  tool_execution_end: observed("tool_execution_end", ({ type: _, result, ...call }) => ({ ...call, result: shownResult(result) })),
  tool_call: (runtime: Runtime) =>
    runtime.kernel.hooks.toolCall.tap("extensions", async (call) => {
      const guard = runtime.quarantinedGuard();
      if (guard) {
        return {
          block: true,
          reason: `Blocked: the extension ${guard.path} guards tool calls and is in quarantine after repeated failures. Reload it to go on.`,
        };
      }
      let verdict: { block?: boolean; reason?: string; terminate?: boolean } | undefined;
      const payload = { type: "tool_call", toolName: call.toolCall.name, toolCallId: call.toolCall.id, input: call.input };
      await runtime.dispatcher.dispatch({
        event: "tool_call",
        payload,
        report: false,
        take(answer) {
          verdict = answer;
          return answer.block === true;
        },
        failed(error, instance) {
          // A guard that fails must not let the call through.
          verdict = { block: true, reason: messageOf(error) };
          runtime.kernel.fault({ from: instance.path, during: "tool_call", error });
          runtime.countGuardFailure(instance, error);
          return true;
        },
      });
      call.input = payload.input;
      if (verdict?.block !== true) return undefined;
      return { block: true, ...(verdict.reason !== undefined && { reason: String(verdict.reason) }), ...(verdict.terminate && { terminate: true }) };
    }),
  tool_result: ({ kernel, dispatcher }: Runtime) =>
    kernel.hooks.toolResult.tap("extensions", async (outcome, call) => {
      const { content, details, isError, usage, terminate } = outcome;
      const { name: toolName, id: toolCallId } = call.toolCall;
      const current: Record<string, any> = { content, details, isError, usage };
      const payload: Record<string, any> = { type: "tool_result", toolName, toolCallId, input: call.input, content, details, isError, ...(usage && { usage }) };
      await dispatcher.dispatch({
        event: "tool_result",
        payload,
        take(answer) {
          if (answer.content !== undefined && !Array.isArray(answer.content))
            throw new TypeError("A tool_result handler answered a content that is not an array.");
          for (const block of answer.content ?? []) checkedBlock(block, "A tool_result handler answered");
          assertJson(answer.content, "content that a tool_result handler answered");
          assertJson(answer.details, "details that a tool_result handler answered");
          for (const field in current) if (answer[field] !== undefined) payload[field] = current[field] = answer[field];
        },
      });
      return {
        content: current.content.filter(isBlock),
        isError: current.isError,
        ...(current.details !== undefined && { details: current.details }),
        ...(current.usage !== undefined && { usage: current.usage }),
        ...(terminate !== undefined && { terminate }),
      } as ToolOutcome;
    }),
  user_bash: ({ kernel, dispatcher }: Runtime) => {
    const userBash = kernel.tryService("userBash");
    if (!userBash) return undone;
    return kernel.own(userBash.hooks).before.tap("extensions", async (request) => {
      let verdict: any;
      let failure: unknown;
      await dispatcher.dispatch({
        event: "user_bash",
        payload: { type: "user_bash", ...request },
        take({ operations, result }) {
          if (operations && result) throw new TypeError("A user_bash handler answered operations and a result; it must choose one.");
          if (!operations && !result) throw new TypeError("A user_bash handler answered neither operations nor a result.");
          verdict = operations ? { operations } : { result: { ...result, output: String(result.output ?? "") } };
          return true;
        },
        failed(error) {
          failure = error;
          return true;
        },
      });
      if (failure !== undefined) throw failure;
      return verdict;
    });
  },

  // ------------------------------------------------------------ the model

  model_select: ({ kernel, dispatcher }: Runtime) => {
    const models = kernel.tryService("models");
    if (!models) return undone;
    return kernel
      .own(models.hooks)
      .selected.tap("extensions", ({ source, ...change }) =>
        dispatcher.dispatch({ event: "model_select", payload: { type: "model_select", ...change, source: source === "extension" ? "set" : source } }),
      );
  },
  thinking_level_select: ({ kernel, dispatcher }: Runtime) => {
    const models = kernel.tryService("models");
    if (!models) return undone;
    return kernel.own(models.hooks).levelSelected.tap("extensions", (change) => {
      void dispatcher.dispatch({ event: "thinking_level_select", payload: { type: "thinking_level_select", ...change } });
    });
  },
} satisfies Record<string, Row>;

export type EventName = keyof typeof rows;

async function isCancelled(dispatcher: Runtime["dispatcher"], payload: { type: string; [field: string]: unknown }): Promise<"cancel" | undefined> {
  let cancel = false;
  await dispatcher.dispatch({
    event: payload.type,
    payload,
    take(answer) {
      cancel = answer.cancel === true;
      return cancel;
    },
  });
  return cancel ? "cancel" : undefined;
}

/** Ids of the session entries that hold these messages; looked up at first use. */
function entryIds({ kernel }: Runtime, messages: readonly AgentMessage[]): () => string[] {
  let ids: string[] | undefined;
  return () => {
    if (ids) return ids;
    const recent =
      kernel
        .tryService("session")
        ?.branch()
        .slice(-messages.length * 2 - 20) ?? [];
    const known = new Map(recent.flatMap((entry) => (entry.type === "message" ? [[entry.message, entry.id] as const] : [])));
    ids = messages.flatMap((message) => known.get(message) ?? []);
    return ids;
  };
}

const isSystem = (message: AgentMessage | undefined): boolean => (message as { role?: string } | undefined)?.role === "system";
