/** Remembers the state of the git work tree before each prompt; `/checkpoint` lists the states and `/checkpoint N` brings one back. */
import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent";

interface Checkpoint {
  commit: string;
  prompt: string;
}

const entryType = "git-checkpoint";

export default function (pi: ExtensionAPI) {
  const git = (ctx: { cwd: string }, ...args: string[]) => pi.exec("git", args, { cwd: ctx.cwd, timeout: 20_000 });

  const checkpoints = (ctx: ExtensionContext): Checkpoint[] =>
    ctx.sessionManager.getBranch().flatMap((entry) => (entry.type === "custom" && entry.customType === entryType ? [entry.data as Checkpoint] : []));

  pi.on("before_agent_start", async (event, ctx) => {
    const head = await git(ctx, "rev-parse", "HEAD");
    if (head.code !== 0) return;
    // A stash commit that is on no list: the work tree and the stash stay as they are. Nothing changed: HEAD itself.
    const stash = await git(ctx, "stash", "create");
    pi.appendEntry(entryType, { commit: stash.stdout.trim() || head.stdout.trim(), prompt: event.prompt.slice(0, 80) });
  });

  pi.registerCommand("checkpoint", {
    description: "List states of the work tree, or bring back number N",
    handler: async (args, ctx) => {
      const all = checkpoints(ctx);
      const chosen = all[Number(args.trim()) - 1];
      if (args.trim() === "" || !chosen) {
        const list = all.map(({ prompt }, index) => `${index + 1}. before "${prompt}"`).join("\n");
        ctx.ui.notify(list || "There are no checkpoints in this session.");
        return;
      }
      // What is there now is kept the same way, so that bringing back can itself be undone.
      const now = await git(ctx, "stash", "create");
      if (now.stdout.trim()) pi.appendEntry(entryType, { commit: now.stdout.trim(), prompt: `/checkpoint ${args.trim()}` });
      const done = await git(ctx, "checkout", chosen.commit, "--", ".");
      ctx.ui.notify(done.code === 0 ? `The files are as before "${chosen.prompt}".` : `git refused: ${done.stderr.trim()}`, done.code === 0 ? "info" : "error");
    },
  });
}
