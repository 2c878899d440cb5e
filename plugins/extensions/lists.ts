/** What `pi.getAllTools()` and `pi.getCommands()` answer. */
import type { SourceInfo } from "../../core/index.ts";
import type { Runtime } from "./runtime.ts";
import type { SlashCommandInfo, ToolInfo } from "./types.ts";

export function listTools({ kernel }: Runtime): ToolInfo[] {
  return kernel
    .registry("tools")
    .all()
    .map(({ name, description, parameters, promptGuidelines, sourceInfo }) => ({
      name,
      description,
      parameters,
      ...(promptGuidelines && { promptGuidelines: [...promptGuidelines] }),
      sourceInfo: sourceInfo ?? builtin(name),
    }));
}

/** Extension commands, then templates, then skills. */
export function listCommands({ kernel }: Runtime): SlashCommandInfo[] {
  const commands = kernel.registry("slashCommands").all();
  const templates = kernel.registry("promptTemplates").all();
  const skills = kernel.registry("skills").all();
  return [
    ...commands.map(({ name, description, sourceInfo }) => info("extension", name, description, sourceInfo)),
    ...templates.map(({ name, description, sourceInfo }) => info("prompt", name, description, sourceInfo)),
    ...skills.map(({ name, description, sourceInfo }) => info("skill", `skill:${name}`, description, sourceInfo)),
  ];
}

function info(source: SlashCommandInfo["source"], name: string, description: string | undefined, given: SourceInfo | undefined): SlashCommandInfo {
  const sourceInfo = given ?? builtin(name);
  const location = sourceInfo.scope === "temporary" ? "path" : sourceInfo.scope;
  return { name, ...(description !== undefined && { description }), source, sourceInfo, ...(source !== "extension" && { location }), path: sourceInfo.path };
}

function builtin(name: string): SourceInfo {
  return { path: `<builtin:${name}>`, source: "builtin", scope: "temporary", origin: "top-level" };
}
