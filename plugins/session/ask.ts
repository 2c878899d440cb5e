/** Which session to continue, asked on the terminal. */
import { createInterface } from "node:readline";
import { type Io, KernelError, type PluginKernel } from "../../core/index.ts";
import { terminalText } from "../shared/terminal-text.ts";
import { sessionDir } from "./choose.ts";
import type { SessionInfo } from "./contract.ts";
import { listSessions } from "./list.ts";
import { placesOf } from "./open.ts";

const SHOWN = 20;
const TITLE_LENGTH = 60;

/** The path of the chosen session; undefined: a new one. On stderr, because an answer that is printed later has stdout for itself. */
export async function askForSession(kernel: PluginKernel, { stdin, stderr }: Io): Promise<string | undefined> {
  const places = placesOf(kernel);
  const { sessions } = listSessions([sessionDir(places)], { cwd: places.cwd, limit: SHOWN }) ?? { sessions: [] };
  if (sessions.length === 0) {
    stderr.write("There is no session of this directory yet; a new one begins.\n");
    return undefined;
  }
  for (const [index, session] of sessions.entries()) stderr.write(`${String(index + 1).padStart(3)}. ${described(session)}\n`);
  const lines = createInterface({ input: stdin, output: stderr, terminal: true });
  try {
    for (;;) {
      const answer = await ask(lines, `Number of the session (1 to ${sessions.length}; nothing begins a new one): `);
      if (answer === "") return undefined;
      const chosen = sessions[Number(answer) - 1];
      if (chosen) return chosen.path;
    }
  } finally {
    lines.close();
  }
}

function described({ name, firstMessage, modified, messageCount }: SessionInfo): string {
  const title = terminalText(name ?? firstMessage).replace(/\s+/g, " ");
  const shown = title.length > TITLE_LENGTH ? `${title.slice(0, TITLE_LENGTH)}…` : title;
  return `${new Date(modified).toLocaleString()}  ${shown} (${messageCount} message${messageCount === 1 ? "" : "s"})`;
}

/** Ctrl-C and Ctrl-D leave the program. */
function ask(lines: ReturnType<typeof createInterface>, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(new KernelError("E_USAGE", "No session was chosen."));
    lines.once("close", leave);
    lines.question(question, (answer) => {
      lines.off("close", leave);
      resolve(answer.trim());
    });
  });
}
