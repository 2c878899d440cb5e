/** Read-only planning: `/plan` (or --plan) takes the tools that change things away until `/plan` is called again. */
import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent";

const readOnly = ["read", "grep", "find", "ls"];
const instruction =
  "You are in plan mode. Only look: do not change anything. Find out what is needed and answer with a numbered plan of concrete steps, naming files. Wait for approval before doing any of it.";

export default function (pi: ExtensionAPI) {
  let isPlanning = false;
  let toolsBefore: string[] = [];

  const toggle = (ctx: ExtensionContext) => {
    isPlanning = !isPlanning;
    if (isPlanning) toolsBefore = pi.getActiveTools();
    const known = new Set(pi.getAllTools().map(({ name }) => name));
    pi.setActiveTools(isPlanning ? readOnly.filter((name) => known.has(name)) : toolsBefore);
    ctx.ui.setStatus("plan-mode", isPlanning ? "plan" : undefined);
    ctx.ui.notify(isPlanning ? "Plan mode: the agent only looks." : "Plan mode is off: all tools are back.");
  };

  pi.registerFlag("plan", { type: "boolean", description: "Start in plan mode: look, do not change", default: false });
  pi.registerCommand("plan", {
    description: "Plan mode on or off: the agent looks and plans, and changes nothing",
    handler: async (_args, ctx) => toggle(ctx),
  });
  pi.on("session_start", async (_event, ctx) => {
    if (pi.getFlag("plan") === true && !isPlanning) toggle(ctx);
  });
  pi.on("before_agent_start", async (event) => (isPlanning ? { systemPrompt: `${event.systemPrompt}\n\n${instruction}` } : undefined));
}
