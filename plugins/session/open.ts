/** Opening the session that the command line asks for. */
import { KernelError, type Options, type PluginKernel } from "../../core/index.ts";
import { expandPath } from "../shared/paths.ts";
import { type Choice, chooseSession, type Places, type SessionOptions, type SettledChoice, sessionDir } from "./choose.ts";
import { SessionDocument } from "./document.ts";
import { LeaseError } from "./lease.ts";
import { allProjectDirs, requireWorkingDirectory } from "./places.ts";
import { loadSession } from "./read.ts";
import type { SessionService } from "./service.ts";

/** Where sessions of the current working directory are. */
export function placesOf(kernel: PluginKernel): Places {
  const settings = kernel.service("settings");
  const expand = (path: string) => expandPath(path, settings.cwd(), settings.home());
  const custom = (kernel.options["session-dir"] as string | undefined) || settings.ownEnv("CODING_AGENT_SESSION_DIR") || settings.get<string>("sessionDir");
  const agentDir = settings.agentDir();
  return { cwd: settings.cwd(), agentDir, expand, allDirs: () => allProjectDirs(agentDir), ...(custom && { customDir: expand(custom) }) };
}

export function currentDir(kernel: PluginKernel): string {
  return sessionDir(placesOf(kernel));
}

/** What the command line asks for; its mistakes end the start. */
export function choiceOf(kernel: PluginKernel): Choice {
  return asUsage(() => {
    const places = placesOf(kernel);
    const choice = chooseSession(kernel.options as Options & SessionOptions, places);
    if (choice.kind === "open") requireWorkingDirectory(choice.path, places.cwd);
    return choice;
  });
}

/** Opens the chosen session. */
export function openChosen(service: SessionService, choice: SettledChoice): SessionDocument {
  return asUsage(() => {
    const places = placesOf(service.kernel);
    const fresh = { cwd: places.cwd, dir: sessionDir(places), onTrouble: service.onTrouble };
    switch (choice.kind) {
      case "memory":
        return SessionDocument.create({ cwd: places.cwd });
      case "new":
        if (choice.notice) service.notice(choice.notice);
        return SessionDocument.create({ ...fresh, ...(choice.id !== undefined && { id: choice.id }), ...(choice.path !== undefined && { path: choice.path }) });
      case "fork":
        return copyOf(choice.path, { ...fresh, ...(choice.id !== undefined && { id: choice.id }) });
      case "open":
        return openFile(service, choice, fresh);
    }
  });
}

type Fresh = { cwd: string; dir: string; id?: string; onTrouble(error: unknown): void };

function openFile(service: SessionService, { path, mayFork }: Extract<SettledChoice, { kind: "open" }>, fresh: Fresh): SessionDocument {
  try {
    const { document, isTorn } = SessionDocument.open(path, fresh);
    if (isTorn) service.notice(`the last line of ${path} was cut off and is left out`);
    return document;
  } catch (error) {
    if (!mayFork || !(error instanceof LeaseError)) throw error;
    service.notice(`${error.message}; continuing in a copy of it`);
    return copyOf(path, fresh);
  }
}

/** All entries of a file in a session of their own. */
function copyOf(path: string, fresh: Fresh): SessionDocument {
  const { entries } = loadSession(path);
  return SessionDocument.create({ ...fresh, parentSession: path }, entries);
}

function asUsage<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw new KernelError("E_USAGE", (error as Error).message, { cause: error });
  }
}
