/** Keeps the agent's write and edit tools away from files that should not change. Paths: `protectedPaths` in settings.json. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { type ExtensionAPI, getAgentDir } from "@mariozechner/pi-coding-agent";

const defaults = [".env", ".git/", "node_modules/"];

export default function (pi: ExtensionAPI) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "write" && event.toolName !== "edit") return undefined;
    const given = String((event.input as { path?: unknown }).path ?? "");
    const hit = configured().find((pattern) => matches(real(resolve(ctx.cwd, given)), pattern));
    if (!hit) return undefined;
    if (ctx.hasUI) ctx.ui.notify(`Blocked ${event.toolName} of the protected path ${given}`, "warning");
    return { block: true, reason: `${given} is protected (${hit}); it must not be changed.` };
  });
}

/** A link must not lead around the rule: the nearest directory that exists decides. */
function real(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : join(real(parent), path.slice(parent.length));
}

/** "name/" matches a directory anywhere on the way, "name" the last part (and `.env` also `.env.local`). */
function matches(path: string, pattern: string): boolean {
  const parts = path.split(sep);
  if (pattern.endsWith("/")) return parts.slice(0, -1).includes(pattern.slice(0, -1)) || parts.at(-1) === pattern.slice(0, -1);
  const name = parts.at(-1) ?? "";
  return name === pattern || (pattern.startsWith(".") && name.startsWith(`${pattern}.`));
}

function configured(): string[] {
  try {
    const { protectedPaths } = JSON.parse(readFileSync(join(getAgentDir(), "settings.json"), "utf8"));
    return Array.isArray(protectedPaths) ? protectedPaths.filter((item: unknown) => typeof item === "string" && item !== "") : defaults;
  } catch {
    return defaults;
  }
}
