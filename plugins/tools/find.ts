/** The plugin of the tool `find`. */
import { environmentOptions } from "../shared/shell-settings.ts";
import { createFindTool } from "./definitions/find.ts";
import { builtinTool } from "./shared/definition.ts";

export const find = builtinTool((kernel, cwd) => createFindTool(cwd, { environment: environmentOptions(kernel) }), createFindTool("/"));
