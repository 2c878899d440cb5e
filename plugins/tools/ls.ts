/** The plugin of the tool `ls`. */
import { createLsTool } from "./definitions/ls.ts";
import { builtinTool } from "./shared/definition.ts";

export const ls = builtinTool((_, cwd) => createLsTool(cwd), createLsTool("/"));
