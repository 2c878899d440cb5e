/** The protocol's commands on models and thinking levels. */
import { Type } from "typebox";
import { command, KernelError, type PluginKernel } from "../../core/index.ts";
import { eventSchema, modelSchema, nullable, oneOf, thinkingLevelSchema } from "../shared/schemas.ts";
import type { ModelService } from "./service.ts";

/** The service with what only its own commands use. */
const models = (kernel: PluginKernel) => kernel.service("models") as ModelService;

const setModel = command({
  name: "set_model",
  params: () => Type.Object({ provider: Type.String({ minLength: 1 }), modelId: Type.String({ minLength: 1 }) }),
  result: modelSchema,
  run: async ({ provider, modelId }, kernel) => {
    const service = models(kernel);
    await service.refresh();
    const model = await service.lookUp(provider, modelId);
    if (!model) throw new KernelError("E_REFUSED", `Model not found: ${provider}/${modelId}`);
    await service.select(model, "set");
    return model;
  },
});

const cycleModel = command({
  name: "cycle_model",
  result: () => nullable(Type.Object({ model: modelSchema(), thinkingLevel: thinkingLevelSchema(), isScoped: Type.Boolean() })),
  run: async (_, kernel) => {
    await models(kernel).refresh();
    return models(kernel).cycle();
  },
});

const getAvailableModels = command({
  name: "get_available_models",
  result: () => Type.Object({ models: Type.Array(modelSchema()) }),
  run: async (_, kernel) => {
    await models(kernel).refresh();
    return { models: models(kernel).available() };
  },
});

const setThinkingLevel = command({
  name: "set_thinking_level",
  params: () => Type.Object({ level: thinkingLevelSchema() }),
  run: ({ level }, kernel) => models(kernel).setThinkingLevel(level),
});

const cycleThinkingLevel = command({
  name: "cycle_thinking_level",
  result: () => nullable(Type.Object({ level: thinkingLevelSchema() })),
  run: (_, kernel) => {
    const service = models(kernel);
    if (!service.current()?.reasoning) return null;
    const levels = service.availableLevels();
    const next = levels[(levels.indexOf(service.thinkingLevel()) + 1) % levels.length];
    if (next) service.setThinkingLevel(next);
    return { level: service.thinkingLevel() };
  },
});

const getAvailableThinkingLevels = command({
  name: "get_available_thinking_levels",
  result: () => Type.Object({ levels: Type.Array(thinkingLevelSchema()) }),
  run: (_, kernel) => ({ levels: models(kernel).availableLevels() }),
});

export const commands = [setModel, cycleModel, getAvailableModels, setThinkingLevel, cycleThinkingLevel, getAvailableThinkingLevels];

/** Events of this feature, for the protocol's description of itself. */
export const events = [
  { name: "thinking_level_changed", schema: () => eventSchema("thinking_level_changed", { level: thinkingLevelSchema() }) },
  { name: "model_changed", schema: () => eventSchema("model_changed", { model: modelSchema(), source: oneOf("set", "cycle", "restore", "extension") }) },
];
