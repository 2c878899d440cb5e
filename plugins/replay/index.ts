/** `--record FILE` writes every model exchange to a file; `--replay FILE` answers from it, offline. Both are read when they are asked for. */
import { definePlugin, KernelError, type PluginList, Stage } from "../../core/index.ts";
import type {} from "./contract.ts";

const group = "Model";

const record = definePlugin({
  name: "record",
  apply(kernel) {
    kernel.registry("flags").add({
      name: "record",
      type: "string",
      placeholder: "<file>",
      description: "Write every exchange with the model to a file, without secrets",
      group,
    });
    kernel.hooks.start.tap({ name: "record", stage: Stage.open }, async () => {
      const { record: file, replay: other } = kernel.options;
      if (file === undefined) return;
      if (other !== undefined) throw new KernelError("E_USAGE", "--record and --replay exclude each other.");
      await (await import("./record.ts")).startRecording(kernel, file);
    });
  },
});

const replay = definePlugin({
  name: "replay",
  apply(kernel) {
    const flags = kernel.registry("flags");
    flags.add({ name: "replay", type: "string", placeholder: "<file>", description: "Answer from a recording, without a network or a key", group });
    flags.add({ name: "replay-timing", type: "boolean", description: "With the pauses of the recording", group });
    kernel.hooks.start.tap({ name: "replay", stage: Stage.open }, async () => {
      const file = kernel.options.replay;
      if (file !== undefined) await (await import("./replay.ts")).startReplay(kernel, file);
    });
  },
});

export default [record, replay] satisfies PluginList;
