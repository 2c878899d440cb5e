/** The plugin of the tool `read`. */
import type {} from "../settings/contract.ts";
import { createReadTool } from "./definitions/read.ts";
import { builtinTool } from "./shared/definition.ts";
import { limitsOf } from "./shared/image-limits.ts";

export const read = builtinTool((kernel, cwd) => {
  const model = kernel.tryService("model")?.current();
  return createReadTool(cwd, {
    autoResizeImages: kernel.tryService("settings")?.get<boolean>("images.autoResize") !== false,
    resizeOptions: limitsOf(model),
    modelSeesImages: !model || model.input.includes("image"),
  });
}, createReadTool("/"));
