/** Asks the user in all four ways, as `/ask` and before the tool `bash` runs. */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  pi.registerCommand("ask", {
    description: "Ask a few questions",
    async handler(_args, ctx) {
      const drink = await ctx.ui.select("What would you like?", ["tea", "coffee"]);
      const isHot = await ctx.ui.confirm("Hot?", "It can also be had with ice.");
      const name = await ctx.ui.input("For whom?", "a name");
      const note = await ctx.ui.editor("A note for the kitchen", "No sugar.");
      ctx.ui.notify(`${isHot ? "hot" : "iced"} ${drink ?? "water"} for ${name ?? "nobody"}: ${note ?? "-"}`, "info");
    },
  });

  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const isAllowed = await ctx.ui.confirm("Run this command?", String(event.input.command));
    if (!isAllowed) return { block: true, reason: "The user declined." };
  });
}
