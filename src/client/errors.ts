/** What can go wrong with a call. */

/** The agent refused a command. `message` is its sentence. */
export class RpcError extends Error {
  readonly command: string;

  constructor(command: string, message: string) {
    super(message);
    this.name = "RpcError";
    this.command = command;
  }
}

/** How the agent's process ended. Both are null for an agent that was reached over streams. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The agent is gone: whatever was waiting for it will not come. */
export class AgentGoneError extends Error {
  readonly exit: Exit;
  /** the end of what it wrote to stderr */
  readonly stderr: string;

  constructor(message: string, exit: Exit = { code: null, signal: null }, stderr = "") {
    super(stderr.trim() ? `${message}\n${stderr.trim()}` : message);
    this.name = "AgentGoneError";
    this.exit = exit;
    this.stderr = stderr;
  }
}
