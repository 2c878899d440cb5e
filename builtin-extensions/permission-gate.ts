/** Asks before dangerous shell commands; without somebody to ask, they are blocked. Rules: `permissionGate.patterns` in settings.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ExtensionAPI, getAgentDir, isToolCallEventType } from "@mariozechner/pi-coding-agent";

const defaults = [
  "\\brm\\s+(-\\w*[rf]\\w*\\s+)+",
  "\\bsudo\\b",
  "\\bchmod\\s+(-R\\s+)?777\\b",
  "\\bmkfs\\b",
  "\\bdd\\s+.*\\bof=/dev/",
  ":\\(\\)\\s*\\{",
  "\\bgit\\s+push\\b.*(--force\\b|-f\\b)",
  "\\b(curl|wget)\\b.*\\|\\s*(ba|z)?sh\\b",
];

export default function (pi: ExtensionAPI) {
  /** commands that the user allowed for this session */
  const allowed = new Set<string>();

  pi.on("tool_call", async (event, ctx) => {
    if (!isToolCallEventType("bash", event)) return undefined;
    const command = String(event.input.command ?? "");
    if (allowed.has(command) || !patterns().some((pattern) => pattern.test(command))) return undefined;
    if (!ctx.hasUI) return { block: true, reason: `The command looks dangerous and nobody can be asked: ${command}` };
    const answer = await ctx.ui.select(`Run this command?\n${command}`, ["Once", "For this session", "No"]);
    if (answer === "For this session") allowed.add(command);
    return answer === "Once" || answer === "For this session" ? undefined : { block: true, reason: "The user did not allow this command." };
  });
}

/** Read at each call: a changed rule counts at once. A pattern that is no regular expression is matched as text. */
function patterns(): RegExp[] {
  return (configured() ?? defaults).map((source) => {
    try {
      return new RegExp(source, "i");
    } catch {
      return new RegExp(source.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
    }
  });
}

function configured(): string[] | undefined {
  try {
    const { permissionGate } = JSON.parse(readFileSync(join(getAgentDir(), "settings.json"), "utf8"));
    return Array.isArray(permissionGate?.patterns) ? permissionGate.patterns.filter((item: unknown) => typeof item === "string") : undefined;
  } catch {
    return undefined;
  }
}
