/** The model `scripted/<file>`: answers from a JSON or TypeScript script. For tests, demos and offline work. */
import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { definePlugin, KernelError, type Model, messageOf, type PluginKernel } from "../../core/index.ts";
import type {} from "../loader/contract.ts";
import type {} from "../models/contract.ts";
import type {} from "../settings/contract.ts";
import { parseJson } from "../shared/hand-written-json.ts";
import type { Script, ScriptModule } from "./scripted-play.ts";

const api = "scripted";

export const scripted = definePlugin({
  name: "provider:scripted",
  apply(kernel) {
    const scripts = new Map<string, Promise<ScriptModule>>();
    const asked = new Map<string, number>();
    kernel.registry("modelSources").add({
      name: api,
      displayName: "Scripted",
      models: [],
      keyless: true,
      hidden: true,
      resolve: (id) => scriptedModel(kernel, id),
    });
    kernel.registry("providers").add({
      name: api,
      async *stream(request) {
        const path = request.model.id;
        const index = asked.get(path) ?? 0;
        asked.set(path, index + 1);
        let script = scripts.get(path);
        if (!script) {
          script = readScript(kernel, path);
          scripts.set(path, script);
        }
        const { play } = await import("./scripted-play.ts");
        yield* play(request, await script, index);
      },
    });
  },
});

function scriptedModel(kernel: PluginKernel, id: string): Model {
  return {
    id,
    name: `Script ${id}`,
    api,
    provider: api,
    baseUrl: "",
    reasoning: true,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 16_384,
    ...overridesOf(pathOf(kernel, id)),
  };
}

/** A JSON script may set fields of its model. An unreadable one is reported by the first request. */
function overridesOf(file: string): Partial<Model> | undefined {
  if (!file.endsWith(".json")) return undefined;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as Script).model;
  } catch {
    return undefined;
  }
}

function pathOf(kernel: PluginKernel, path: string): string {
  return isAbsolute(path) ? path : resolve(kernel.service("settings").cwd(), path);
}

async function readScript(kernel: PluginKernel, path: string): Promise<ScriptModule> {
  const file = pathOf(kernel, path);
  try {
    const given = file.endsWith(".json") ? parseJson(readFileSync(file, "utf8")) : (await kernel.service("loader").load(file)).default;
    const script = Array.isArray(given) ? { responses: given } : given;
    const { flawOfScript } = await import("./scripted-flaws.ts");
    const flaw = flawOfScript(script);
    if (flaw) throw new Error(flaw);
    return script as ScriptModule;
  } catch (error) {
    throw new KernelError("E_REFUSED", `The model script ${path} cannot be used: ${messageOf(error)}`);
  }
}
