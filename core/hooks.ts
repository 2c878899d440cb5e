/** The kernel's hooks: the architecture on one page. They are called in core/ and nowhere else. */
import { AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook, HookMap, SyncBailHook, SyncHook } from "tapable";
import type {
  Boundary,
  Fault,
  Model,
  PromptDraft,
  RunDraft,
  RunOutcome,
  State,
  Tool,
  ToolCallDraft,
  ToolOutcome,
  ToolVerdict,
  TurnDraft,
} from "./contracts.ts";
import type { AgentEvent } from "./events.ts";
import type { AgentMessage, BlockEvent } from "./messages.ts";
import type { Draft } from "./registry.ts";
import { mayRefuse } from "./taps.ts";

/** Named places in the order of taps. */
export const Stage = { open: -100, commands: -50, normal: 0, expand: 50, wire: 100, listen: 200 } as const;

export function createHooks() {
  return {
    // moments
    /** the agent comes up: session opens, extensions load; a throw ends the start */
    start: mayRefuse(new AsyncSeriesHook<[]>()),
    /** the agent is about to go down, before the run is aborted: what waits for the outside (dialogs, host tools) gives up */
    stopping: new SyncHook<[reason: string]>(["reason"]),
    /** the agent goes down: extensions shut down, files are brought up to date */
    stop: new AsyncSeriesHook<[reason: string]>(["reason"]),
    /** one hook per registry: contributions and filters replay over an empty draft */
    collect: new HookMap<SyncHook<[draft: Draft<any>]>>(() => new SyncHook(["draft"])),
    /** each owner writes its own fields of get_state */
    describe: new SyncHook<[state: State]>(["state"]),

    // the path of a prompt
    /** something else takes the text (a slash command), before a run is reserved */
    intercept: new AsyncSeriesBailHook<[draft: PromptDraft], "handled">(["draft"]),
    /** may a run start now? throw to refuse; synchronous, so that two prompts cannot race */
    admit: mayRefuse(new SyncHook<[draft: PromptDraft]>(["draft"])),
    /** change the text, or take it */
    input: new AsyncSeriesBailHook<[draft: PromptDraft], "handled">(["draft"]),
    /** last word before a run: key present? held messages; throw to refuse */
    beforeRun: mayRefuse(new AsyncSeriesHook<[run: RunDraft]>(["run"])),
    /** between the parts of a run: compaction, reload swap; "continue" at settle asks for another pass */
    boundary: new AsyncSeriesBailHook<[boundary: Boundary], "continue">(["boundary"]),
    /** which tools the model is offered */
    offer: new AsyncSeriesWaterfallHook<[tools: readonly Tool[]]>(["tools"]),
    /** the text of the system prompt, before every model call */
    systemPrompt: new AsyncSeriesWaterfallHook<[text: string, run: RunDraft | undefined]>(["text", "run"]),
    /** the messages of one model call; nothing is stored */
    context: new AsyncSeriesWaterfallHook<[messages: readonly AgentMessage[]]>(["messages"]),
    /** headers of one model call, changed in place (null deletes) */
    headers: new AsyncSeriesHook<[headers: Record<string, string | null>, model: Model]>(["headers", "model"]),
    /** payload of one model call */
    request: new AsyncSeriesWaterfallHook<[payload: unknown, model: Model]>(["payload", "model"]),
    /** head of the model's response */
    response: new AsyncSeriesHook<[response: { status: number; headers: Record<string, string> }, model: Model]>(["response", "model"]),
    /** one increment of the stream; "stop" ends the stream before the block does */
    increment: new SyncBailHook<[event: BlockEvent], "stop">(["event"]),
    /** a message before it is stored; the answer replaces it */
    message: new AsyncSeriesWaterfallHook<[message: AgentMessage]>(["message"]),
    /** a message's end was emitted; what taps emit here directly follows it on the bus */
    concluded: new SyncHook<[message: AgentMessage]>(["message"]),
    /** a guard blocks a tool call, or changes its input; a throw blocks too */
    toolCall: new AsyncSeriesBailHook<[call: ToolCallDraft], ToolVerdict>(["call"]),
    /** what a tool brought, before it is announced */
    toolResult: new AsyncSeriesWaterfallHook<[outcome: ToolOutcome, call: ToolCallDraft]>(["outcome", "call"]),
    /** a turn is about to be announced as ended */
    turn: new AsyncSeriesHook<[turn: TurnDraft]>(["turn"]),
    /** will this outcome be retried? asked before agent_end, which says so */
    verdict: new SyncBailHook<[outcome: RunOutcome], boolean>(["outcome"]),
    /** "continue" runs the loop again without a new message: retry, recovery */
    afterRun: new AsyncSeriesBailHook<[outcome: RunOutcome, signal: AbortSignal], "continue">(["outcome", "signal"]),

    // the bus
    /** every event, in order: observers first, then transports at Stage.wire */
    event: new AsyncSeriesHook<[event: AgentEvent]>(["event"]),
    /** what nobody awaits went wrong */
    fault: new SyncHook<[fault: Fault]>(["fault"]),
  };
}

export type KernelHooks = ReturnType<typeof createHooks>;
