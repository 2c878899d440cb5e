/** The protocol's commands on extensions. */
import { Type } from "typebox";
import { command } from "../../core/index.ts";
import type {} from "./contract.ts";

const names = () => Type.Array(Type.String());

export const getExtensions = command({
  name: "get_extensions",
  result: () =>
    Type.Object({
      extensions: Type.Array(
        Type.Object({
          path: Type.String(),
          name: Type.String(),
          state: Type.Union([Type.Literal("active"), Type.Literal("failed"), Type.Literal("quarantined")]),
          generation: Type.Number(),
          loadMs: Type.Number(),
          error: Type.Optional(Type.String()),
          faults: Type.Number(),
          owns: Type.Object({
            tools: names(),
            commands: names(),
            events: names(),
            providers: names(),
            flags: names(),
            timers: Type.Number(),
            children: Type.Number(),
            dialogs: Type.Number(),
          }),
        }),
      ),
    }),
  run: (_, kernel) => ({ extensions: kernel.tryService("extensions")?.list() ?? [] }),
});

export const reload = command({
  name: "reload",
  lane: "background",
  params: () => Type.Object({ path: Type.Optional(Type.String()) }),
  result: () => Type.Object({ reloaded: names(), failed: Type.Array(Type.Object({ path: Type.String(), error: Type.String() })) }),
  run: ({ path }, kernel) => kernel.service("extensions").reload(path),
});
