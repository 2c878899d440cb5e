/** The plugin of the tool `write`. */
import { createWriteTool } from "./definitions/write.ts";
import { builtinTool } from "./shared/definition.ts";

export const write = builtinTool((_, cwd) => createWriteTool(cwd), createWriteTool("/"));
