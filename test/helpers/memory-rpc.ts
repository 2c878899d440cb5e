/** The RPC transport in this process, on streams instead of pipes: for plugins that a test wants to look inside of. */
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import { Kernel, type Options, type Plugin, type PluginKernel, type PluginList } from "../../core/index.ts";
import dialects from "../../plugins/dialects/index.ts";
import prompting from "../../plugins/prompting/index.ts";
import rpc from "../../plugins/rpc/index.ts";
import settings from "../../plugins/settings/index.ts";
import slashCommands from "../../plugins/slash-commands/index.ts";
import state from "../../plugins/state/index.ts";
import type { Frame } from "./pi.ts";

export class MemoryRpc {
  readonly kernel = new Kernel();
  readonly frames: Frame[] = [];
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  /** a plugin's view, to do things with */
  view!: PluginKernel;
  served!: Promise<number>;
  #waiting: (() => void)[] = [];

  async start(plugins: PluginList, options: Options = {}): Promise<this> {
    const probe: Plugin = {
      name: "probe",
      apply: (kernel) => {
        this.view = kernel;
      },
    };
    let rest = "";
    this.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.frames.push(JSON.parse(line));
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
    await this.kernel.useAll([probe, settings, dialects, rpc, slashCommands, prompting, state, plugins]);
    await this.kernel.start({ mode: "rpc", env: {}, ...options } as Options);
    const { stdin, stdout, stderr } = this;
    this.served = this.kernel.registry("transports").get("rpc")?.serve({ stdin, stdout, stderr }) ?? Promise.reject(new Error("no transport"));
    return this;
  }

  send(record: object): void {
    this.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** The next frame after `from` that matches. */
  async find(matches: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    for (let index = from; ; index++) {
      while (index >= this.frames.length) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      const frame = this.frames[index] as Frame;
      if (matches(frame)) return frame;
    }
  }

  response(id: string | number): Promise<Frame> {
    return this.find((frame) => frame.type === "response" && frame.id === id);
  }

  async stop(): Promise<number> {
    this.stdin.end();
    const status = await this.served;
    await this.kernel.stop();
    return status;
  }
}

export async function memoryRpc(plugins: PluginList = [], options: Options = {}): Promise<MemoryRpc> {
  const rpc = await new MemoryRpc().start(plugins, options);
  onTestFinished(async () => {
    await rpc.stop();
    await rpc.kernel.removeAll();
  });
  return rpc;
}
