/** `/session-name TEXT` names the session; without a text it shows the name, and `-` takes it away. */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  pi.registerCommand("session-name", {
    description: "Name this session (- clears, nothing shows)",
    handler: async (args, ctx) => {
      const name = args.trim();
      if (name === "") {
        ctx.ui.notify(`The session is ${pi.getSessionName() ? `called "${pi.getSessionName()}"` : "not named"}.`);
        return;
      }
      pi.setSessionName(name === "-" ? "" : name);
      ctx.ui.notify(name === "-" ? "The session has no name any more." : `The session is now called "${name}".`);
    },
  });
}
