/** Commands that feed and stop a run. */
import { Type } from "typebox";
import { type Accepted, type Call, command, type Plugin, type PluginKernel, type PromptInput } from "../../core/index.ts";
import { interruptModeSchema, queueModeSchema, streamingBehaviorSchema } from "../shared/schemas.ts";
import { areRemote } from "./images.ts";
import { attachmentParams, checkMessage, messageParams, type PromptParams, readPrompt } from "./input.ts";

/** The response tells that a prompt was accepted; the run that it starts follows it. */
function beginAfterReply(accepted: Accepted, call: Call): void {
  call.after(() => accepted.begin());
}

/** An abort is meant for a prompt whose images are still being fetched, too: no run may begin behind its back. */
async function readToRun(params: PromptParams, kernel: PluginKernel, call: Call): Promise<PromptInput> {
  if (!params.images || !areRemote(params.images)) return readPrompt(params, kernel, call.signal);
  const stop = new AbortController();
  const free = kernel.run.occupy({ name: "prompt", abort: () => stop.abort() });
  try {
    return await readPrompt(params, kernel, AbortSignal.any([call.signal, stop.signal]));
  } finally {
    free();
  }
}

const prompt: Plugin = {
  name: "command:prompt",
  apply(kernel) {
    kernel.registry("commands").add({
      name: "prompt",
      params: () => Type.Object({ ...messageParams(), ...attachmentParams(), streamingBehavior: Type.Optional(streamingBehaviorSchema()) }),
      // A slash command may take its time, and nobody shall wait for it.
      lane: ({ message }) => (namesSlashCommand(kernel, message) ? "background" : "ordered"),
      async run({ streamingBehavior, ...params }: PromptParams & { streamingBehavior?: "steer" | "followUp" }, call) {
        checkMessage(params);
        call.acknowledge?.();
        const input = await readToRun(params, kernel, call);
        beginAfterReply(await kernel.prompt({ ...input, ...(streamingBehavior && { whileRunning: streamingBehavior }) }), call);
      },
    });
  },
};

function namesSlashCommand(kernel: PluginKernel, message: unknown): boolean {
  const name = typeof message === "string" ? /^\/(\S+)/.exec(message)?.[1] : undefined;
  return name !== undefined && kernel.registry("slashCommands").has(name);
}

const abortAndPrompt = command({
  name: "abort_and_prompt",
  params: () => Type.Object({ ...messageParams(), ...attachmentParams() }),
  async run(params, kernel, call) {
    checkMessage(params as PromptParams);
    call.acknowledge?.();
    await kernel.run.abort();
    beginAfterReply(await kernel.prompt(await readToRun(params as PromptParams, kernel, call)), call);
  },
});

const queueing = (name: string, behaviour: "steer" | "followUp") =>
  command({
    name,
    params: () => Type.Object(messageParams()),
    async run(params, kernel, call) {
      checkMessage(params as PromptParams);
      await kernel.prompt({ ...(await readPrompt(params as PromptParams, kernel, call.signal)), queue: behaviour });
    },
  });

const abort = command({ name: "abort", lane: "immediate", run: (_, kernel) => kernel.run.abort() });

const clearQueue = command({
  name: "clear_queue",
  result: () => Type.Object({ steering: Type.Array(Type.String()), followUp: Type.Array(Type.String()) }),
  run: (_, kernel) => kernel.queue.clear(),
});

const setSteeringMode = command({
  name: "set_steering_mode",
  params: () => Type.Object({ mode: queueModeSchema() }),
  run({ mode }, kernel) {
    kernel.queue.steeringMode = mode;
  },
});

const setFollowUpMode = command({
  name: "set_follow_up_mode",
  params: () => Type.Object({ mode: queueModeSchema() }),
  run({ mode }, kernel) {
    kernel.queue.followUpMode = mode;
  },
});

const setInterruptMode = command({
  name: "set_interrupt_mode",
  params: () => Type.Object({ mode: interruptModeSchema() }),
  run({ mode }, kernel) {
    kernel.queue.interruptMode = mode;
  },
});

export const promptingCommands = [
  prompt,
  queueing("steer", "steer"),
  queueing("follow_up", "followUp"),
  abort,
  abortAndPrompt,
  clearQueue,
  setSteeringMode,
  setFollowUpMode,
  setInterruptMode,
];
