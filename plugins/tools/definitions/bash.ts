/** The tool `bash`: a command in a shell, with its output as it comes. */
import { messageOf, type ToolResult } from "../../../core/index.ts";
import type {} from "../../session/contract.ts";
import { type OutputSnapshot, OutputTail } from "../../shared/output-tail.ts";
import {
  childEnvironment,
  createLocalBashOperations,
  type EnvironmentOptions,
  type ProcessGroups,
  type ShellOperations,
  type SpawnContext,
} from "../../shared/shell.ts";
import { formatSize, type TruncationResult } from "../../shared/truncate.ts";
import { parametersOf, type ToolDefinition, text } from "../shared/definition.ts";

export interface BashParams {
  command: string;
  /** seconds */
  timeout?: number;
}

export interface BashDetails {
  truncation?: TruncationResult;
  fullOutputPath?: string;
}

export interface BashToolOptions {
  operations?: ShellOperations;
  /** put before every command, on its own line */
  commandPrefix?: string;
  shellPath?: string;
  spawnHook?(context: SpawnContext): SpawnContext;
  /** false: the command does not learn which session and model it serves */
  exposeSessionEnvironment?: boolean;
  /** the PI_* variables of this call; from the extension's context if absent */
  sessionEnvironment?(): Record<string, string | undefined>;
  environment?: EnvironmentOptions;
  /** A source of data asks before it takes more. */
  ready?(): Promise<void> | undefined;
  groups?: ProcessGroups;
}

/** Milliseconds between two updates. */
const UPDATE_MS = 100;
const MAX_TIMEOUT_SECONDS = 2_147_483.647;

export function createBashTool(cwd: string, options: BashToolOptions = {}): ToolDefinition<BashParams, BashDetails> {
  return {
    name: "bash",
    label: "bash",
    description:
      "Run a command in a shell in the working directory. Gives stdout and stderr together, cut to the last 2000 lines or 50KB, whichever is reached first; " +
      "longer output is kept whole in a file that is named. Optional timeout in seconds.",
    promptSnippet: "Run shell commands (ls, grep, find, builds, tests, git)",
    promptGuidelines: ["Shell commands find the session and model they serve in the PI_* environment variables."],
    parameters: parametersOf(
      {
        command: { type: "string", description: "The command line" },
        timeout: { type: "number", description: "Seconds after which it is killed; none by default" },
      },
      ["timeout"],
    ),
    async execute(_id, { command, timeout }, signal, onUpdate, context) {
      checkTimeout(timeout);
      const output = new OutputTail();
      const updates = new Updates(output, onUpdate);
      const { groups, spawnHook } = options;
      const operations = options.operations ?? createLocalBashOperations({ shellPath: options.shellPath, groups, spawnHook });
      const onData = (data: Buffer) => {
        const written = output.push(data);
        updates.due();
        const held = options.ready?.();
        return written && held ? Promise.all([written, held]) : (written ?? held);
      };
      let ending: Ending;
      try {
        const env = environmentOf(options, context);
        const line = options.commandPrefix ? `${options.commandPrefix}\n${command}` : command;
        const { exitCode } = await operations.exec(line, cwd, { onData, signal, timeout, env });
        ending = { exitCode };
      } catch (error) {
        ending = { problem: problemOf(error) };
      }
      updates.stop();
      return resultOf(await output.finish(), ending);
    },
  };
}

/** How a command ended: by itself, or with the last line of its result. */
type Ending = { exitCode: number | null } | { problem: string | Error };

function problemOf(error: unknown): string | Error {
  const message = messageOf(error);
  if (message === "aborted") return "Command aborted";
  const [, seconds] = /^timeout:(.+)$/.exec(message) ?? [];
  return seconds ? `Command timed out after ${seconds} seconds` : (error as Error);
}

function resultOf(snapshot: OutputSnapshot, ending: Ending): ToolResult<BashDetails> {
  const shown = withNotice(snapshot);
  if ("problem" in ending) {
    if (typeof ending.problem !== "string") throw ending.problem;
    throw new Error(shown ? `${shown}\n\n${ending.problem}` : ending.problem);
  }
  if (ending.exitCode) throw new Error(`${shown || "(no output)"}\n\nCommand exited with code ${ending.exitCode}`);
  return { ...text(shown || "(no output)"), ...detailsOf(snapshot) };
}

function detailsOf({ truncation, fullOutputPath }: OutputSnapshot): { details: BashDetails } {
  if (!truncation.truncated) return { details: {} };
  // The text is in the result already.
  return { details: { truncation: { ...truncation, content: "" }, ...(fullOutputPath !== undefined && { fullOutputPath }) } };
}

/** The output, and if it was cut, what is shown of it and where the rest is. */
function withNotice({ text: shown, truncation, lastLineBytes, fullOutputPath }: OutputSnapshot): string {
  if (!truncation.truncated) return shown;
  const { totalLines, outputLines, outputBytes, maxBytes } = truncation;
  const where = fullOutputPath === undefined ? "The full output could not be kept]" : `Full output: ${fullOutputPath}]`;
  if (truncation.lastLinePartial) {
    return `${shown}\n\n[Showing last ${formatSize(outputBytes)} of line ${totalLines} (line is ${formatSize(lastLineBytes)}). ${where}`;
  }
  const limit = truncation.truncatedBy === "bytes" ? ` (${formatSize(maxBytes)} limit)` : "";
  return `${shown}\n\n[Showing lines ${totalLines - outputLines + 1}-${totalLines} of ${totalLines}${limit}. ${where}`;
}

function checkTimeout(timeout: number | undefined): void {
  if (timeout === undefined) return;
  if (!Number.isFinite(timeout) || timeout <= 0) throw new Error(`Invalid timeout: ${timeout}. It must be a number of seconds above 0.`);
  if (timeout > MAX_TIMEOUT_SECONDS) throw new Error(`Invalid timeout: ${timeout}. The maximum is ${MAX_TIMEOUT_SECONDS} seconds.`);
}

/** Partial results, at most one every 100 ms, each the whole so far. */
class Updates {
  readonly #output: OutputTail;
  readonly #onUpdate: ((partial: ToolResult<BashDetails>) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last = Number.NEGATIVE_INFINITY;

  constructor(output: OutputTail, onUpdate: ((partial: ToolResult<BashDetails>) => void) | undefined) {
    this.#output = output;
    this.#onUpdate = onUpdate;
    onUpdate?.({ content: [], details: undefined });
  }

  due(): void {
    if (!this.#onUpdate || this.#timer) return;
    const wait = this.#last + UPDATE_MS - performance.now();
    if (wait <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #send(): void {
    this.#timer = undefined;
    this.#last = performance.now();
    const snapshot = this.#output.snapshot();
    this.#onUpdate?.({ ...text(snapshot.text), ...detailsOf(snapshot) });
  }
}

// ---------------------------------------------------------------- environment

function environmentOf(options: BashToolOptions, context: unknown): NodeJS.ProcessEnv {
  const env = childEnvironment(options.environment);
  if (options.exposeSessionEnvironment === false) return env;
  const prefix = options.environment?.prefix ?? "PI";
  const values = options.sessionEnvironment?.() ?? fromContext(context);
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) env[`${prefix}_${name}`] = value;
  }
  return env;
}

/** What an extension's context tells about the session. */
interface SessionContext {
  sessionManager?: { getSessionId?(): string; getSessionFile?(): string | undefined };
  model?: { provider: string; id: string };
  thinkingLevel?: string;
}

function fromContext(context: unknown): Record<string, string | undefined> {
  if (typeof context !== "object" || context === null) return {};
  const { sessionManager, model, thinkingLevel } = context as SessionContext;
  return {
    SESSION_ID: sessionManager?.getSessionId?.(),
    SESSION_FILE: sessionManager?.getSessionFile?.(),
    PROVIDER: model?.provider,
    MODEL: model?.id,
    REASONING_LEVEL: thinkingLevel,
  };
}
