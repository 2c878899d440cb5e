/** The plugin of the tool `grep`. */
import { environmentOptions } from "../shared/shell-settings.ts";
import { createGrepTool } from "./definitions/grep.ts";
import { builtinTool } from "./shared/definition.ts";

export const grep = builtinTool((kernel, cwd) => createGrepTool(cwd, { environment: environmentOptions(kernel) }), createGrepTool("/"));
