/** The plugin of the tool `edit`. */
import { createEditTool } from "./definitions/edit.ts";
import { builtinTool } from "./shared/definition.ts";

export const edit = builtinTool((_, cwd) => createEditTool(cwd), createEditTool("/"));
