/** Runs the user's shell commands and records them in the conversation. */
import { AsyncSeriesBailHook } from "tapable";
import { type CustomMessages, KernelError, messageOf, type PluginKernel } from "../../core/index.ts";
import { OutputTail } from "../shared/output-tail.ts";
import { childEnvironment, createLocalBashOperations, ProcessGroups } from "../shared/shell.ts";
import { environmentOptions, shellPath, withPrefix } from "../shared/shell-settings.ts";
import { countLines } from "../shared/truncate.ts";
import type { BashOperations, BashOutcome, UserBash } from "./contract.ts";
import { PlainText } from "./plain-text.ts";

type RunOptions = NonNullable<Parameters<UserBash["run"]>[1]>;

export class UserBashService implements UserBash {
  readonly hooks: UserBash["hooks"] = { before: new AsyncSeriesBailHook(["request"]) };
  readonly #kernel: PluginKernel;
  readonly #groups = new ProcessGroups();
  readonly #running = new Map<AbortController, Promise<unknown>>();
  /** results of commands that ended during a run, which must not come between its messages */
  #held: CustomMessages["bashExecution"][] = [];

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  run(command: string, options: RunOptions = {}): Promise<BashOutcome> {
    const controller = new AbortController();
    const work = this.#run(command, options, controller.signal).finally(() => this.#running.delete(controller));
    this.#running.set(controller, work);
    return work;
  }

  abort(): void {
    for (const controller of this.#running.keys()) controller.abort();
  }

  /** Ends everything that was started, and what that left in the background. */
  async stop(): Promise<void> {
    this.abort();
    await Promise.allSettled(this.#running.values());
    this.#groups.killAll();
    await this.recordHeld();
  }

  get holds(): boolean {
    return this.#held.length > 0;
  }

  /** Puts held results into the conversation. */
  async recordHeld(): Promise<void> {
    for (const message of this.#held.splice(0)) await this.#kernel.service("transcript").append(message);
  }

  async #run(command: string, { excludeFromContext = false, onData }: RunOptions, signal: AbortSignal): Promise<BashOutcome> {
    const cwd = this.#kernel.tryService("settings")?.cwd() ?? this.#kernel.options.cwd ?? process.cwd();
    const verdict = await this.hooks.before.promise({ command, excludeFromContext, cwd });
    const outcome =
      verdict && "result" in verdict
        ? completed(verdict.result)
        : await this.#execute(withPrefix(this.#kernel, command), cwd, verdict?.operations, onData, signal);
    await this.#record(command, outcome, excludeFromContext);
    return outcome;
  }

  async #execute(
    command: string,
    cwd: string,
    operations: BashOperations | undefined,
    onData: RunOptions["onData"],
    signal: AbortSignal,
  ): Promise<BashOutcome> {
    const output = new OutputTail();
    const plain = new PlainText();
    const take = ({ text, bytes }: { text: string; bytes: Buffer }) => {
      if (text === "") return undefined;
      const pending = [onData?.(text), output.push(bytes), this.#kernel.ready()].filter((work) => work !== undefined);
      return pending.length > 0 ? Promise.all(pending) : undefined;
    };
    const ending = await this.#exec(operations, command, cwd, signal, (data) => take(plain.push(data)));
    take(plain.end());
    const { text, truncation, fullOutputPath, artifactId } = await output.finish();
    const { truncated, totalLines, totalBytes, outputLines, outputBytes } = truncation;
    return {
      output: text,
      ...ending,
      truncated,
      totalLines,
      totalBytes,
      outputLines,
      outputBytes,
      ...(truncated && fullOutputPath !== undefined && { fullOutputPath, artifactId }),
    };
  }

  async #exec(operations: BashOperations | undefined, command: string, cwd: string, signal: AbortSignal, onData: (data: Buffer) => unknown) {
    const kernel = this.#kernel;
    const env = childEnvironment(environmentOptions(kernel));
    try {
      if (operations) return { exitCode: (await operations.exec(command, cwd, { onData, signal, env })).exitCode ?? null, cancelled: signal.aborted };
      const local = createLocalBashOperations({ shellPath: shellPath(kernel), groups: this.#groups });
      const { exitCode, signal: killedBy } = await local.exec(command, cwd, { onData, signal, env });
      return { exitCode: killedBy ? null : exitCode, cancelled: false };
    } catch (error) {
      if (signal.aborted) return { exitCode: null, cancelled: true };
      throw operations ? error : new KernelError("E_REFUSED", `Failed to start shell: ${messageOf(error)}`, { cause: error });
    }
  }

  async #record(command: string, { output, exitCode, cancelled, truncated, fullOutputPath }: BashOutcome, excludeFromContext: boolean): Promise<void> {
    this.#held.push({
      role: "bashExecution",
      command,
      output,
      exitCode,
      cancelled,
      truncated,
      ...(fullOutputPath !== undefined && { fullOutputPath }),
      ...(excludeFromContext && { excludeFromContext }),
      timestamp: Date.now(),
    });
    if (!this.#kernel.run.active) await this.recordHeld();
  }
}

/** An extension's own result with what it left out. */
function completed(result: Partial<BashOutcome> & { output: string }): BashOutcome {
  const totalLines = countLines(result.output);
  const totalBytes = Buffer.byteLength(result.output);
  return { exitCode: null, cancelled: false, truncated: false, totalLines, totalBytes, outputLines: totalLines, outputBytes: totalBytes, ...result };
}
