/** The session's commands of the protocol. */
import { Type } from "typebox";
import { command, KernelError, type Plugin, type PluginKernel } from "../../core/index.ts";
import { nullable } from "../shared/schemas.ts";
import { sessionDir } from "./choose.ts";
import { listSessions } from "./list.ts";
import { placesOf } from "./open.ts";
import { isUserMessage, userText } from "./replace.ts";
import { entrySchema, sessionListSchema, statsSchema, treeSchema } from "./schemas.ts";

const filled = () => Type.String({ minLength: 1 });
const cancelled = () => Type.Object({ cancelled: Type.Boolean() });

const newSession = command({
  name: "new_session",
  params: () => Type.Object({ parentSession: Type.Optional(filled()) }),
  result: cancelled,
  run: ({ parentSession }, kernel, call) => kernel.service("session").startNew({ later: call.after, ...(parentSession !== undefined && { parentSession }) }),
});

const switchSession = command({
  name: "switch_session",
  params: () => Type.Object({ sessionPath: filled() }),
  result: cancelled,
  run: ({ sessionPath }, kernel, call) => kernel.service("session").switchTo(sessionPath, { later: call.after }),
});

/** One operation under its present and its former name. */
const forking = (via: "fork" | "branch") =>
  command({
    name: via,
    params: () => Type.Object({ entryId: filled() }),
    result: () => Type.Object({ text: Type.String(), cancelled: Type.Boolean() }),
    run: async ({ entryId }, kernel, call) => {
      const { text, cancelled } = await kernel.service("session").fork(entryId, { via, later: call.after });
      return { text, cancelled };
    },
  });

const clone = command({
  name: "clone",
  result: cancelled,
  run: (_, kernel, call) => kernel.service("session").clone({ later: call.after }),
});

const forkMessages = (name: "get_fork_messages" | "get_branch_messages") =>
  command({
    name,
    result: () => Type.Object({ messages: Type.Array(Type.Object({ entryId: Type.String(), text: Type.String() })) }),
    run: (_, kernel) => {
      const branch = kernel.service("session").branch();
      return { messages: branch.filter(isUserMessage).map((entry) => ({ entryId: entry.id, text: userText(entry) })) };
    },
  });

const getEntries = command({
  name: "get_entries",
  params: () => Type.Object({ since: Type.Optional(filled()) }),
  result: () => Type.Object({ entries: Type.Array(entrySchema()), leafId: nullable(Type.String()) }),
  run: ({ since }, kernel) => {
    const session = kernel.service("session");
    const entries = session.entries();
    const known = since === undefined ? -1 : entries.findLastIndex(({ id }) => id === since);
    if (since !== undefined && known < 0) throw new KernelError("E_REFUSED", `Entry not found: ${since}`);
    return { entries: entries.slice(known + 1), leafId: session.leafId() };
  },
});

const getTree = command({
  name: "get_tree",
  result: () => Type.Object({ tree: treeSchema(), leafId: nullable(Type.String()) }),
  run: (_, kernel) => {
    const session = kernel.service("session");
    return { tree: session.tree(), leafId: session.leafId() };
  },
});

const getStats = command({ name: "get_session_stats", result: statsSchema, run: (_, kernel) => kernel.service("session").stats() });

const setName = command({
  name: "set_session_name",
  params: () => Type.Object({ name: Type.String() }),
  run: ({ name }, kernel) => {
    if (name.trim() === "") throw new KernelError("E_REFUSED", "Session name cannot be empty");
    kernel.service("session").setName(name);
  },
});

const list = command({
  name: "list_sessions",
  params: () =>
    Type.Object({
      cwd: Type.Optional(filled()),
      all: Type.Optional(Type.Boolean()),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
      cursor: Type.Optional(filled()),
    }),
  result: sessionListSchema,
  run: ({ cwd, all, limit = 50, cursor }, kernel) => {
    const { dirs, only } = placesToList(kernel, cwd, all === true);
    const page = listSessions(dirs, { cwd: only, limit, cursor });
    if (!page) throw new KernelError("E_PARAMETER", 'Invalid parameter "cursor": expected the nextCursor of an earlier answer');
    return page;
  },
});

/** A directory of the user's choice holds the sessions of many projects, hence `only`. */
function placesToList(kernel: PluginKernel, cwd: string | undefined, all: boolean): { dirs: string[]; only?: string } {
  const places = placesOf(kernel);
  const { customDir } = places;
  if (all) return { dirs: customDir === undefined ? places.allDirs() : [customDir, ...places.allDirs()] };
  const wanted = cwd === undefined ? places.cwd : places.expand(cwd);
  return { dirs: [sessionDir({ ...places, cwd: wanted })], ...(customDir !== undefined && { only: wanted }) };
}

const navigateTree = command({
  name: "navigate_tree",
  params: () =>
    Type.Object({
      targetId: filled(),
      summarize: Type.Optional(Type.Boolean()),
      customInstructions: Type.Optional(Type.String()),
      label: Type.Optional(Type.String()),
    }),
  result: () => Type.Object({ cancelled: Type.Boolean(), editorText: Type.Optional(Type.String()) }),
  // A summary is a model call: nobody waits for it.
  lane: ({ summarize }) => (summarize === true ? "background" : "ordered"),
  run: async ({ targetId, ...options }, kernel) => {
    const { cancelled, editorText } = await kernel.service("session").navigate(targetId, options);
    return { cancelled, ...(editorText !== undefined && { editorText }) };
  },
});

const setLabel = command({
  name: "set_label",
  params: () => Type.Object({ entryId: filled(), label: Type.Optional(Type.String()) }),
  run: ({ entryId, label }, kernel) => kernel.service("session").setLabel(entryId, label),
});

export const sessionCommands: readonly Plugin[] = [
  newSession,
  switchSession,
  forking("fork"),
  forking("branch"),
  clone,
  forkMessages("get_fork_messages"),
  forkMessages("get_branch_messages"),
  getEntries,
  getTree,
  getStats,
  setName,
  list,
  navigateTree,
  setLabel,
];
