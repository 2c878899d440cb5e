/** The text of the system prompt: the same options give the same bytes. */
import type { SystemPromptOptions } from "./contract.ts";

const PREAMBLE =
  "You are an expert coding assistant. You work inside a coding agent and help the user by reading files, running commands, changing code and writing new files.";

export function render(options: SystemPromptOptions): string {
  if (options.forceSystemPrompt !== undefined) return options.forceSystemPrompt;
  const isOurs = options.customPrompt === undefined;
  const parts = [
    isOurs ? PREAMBLE : (options.customPrompt as string).trim(),
    isOurs && section("tools", toolList(options)),
    isOurs && section("rules", rules(options)),
    section("addendum", options.appendSystemPrompt.trim()),
    section("project_context", projectContext(options)),
    section("skills", skillList(options)),
    section("cwd", options.cwd.replaceAll("\\", "/")),
    ...Object.entries(options.sections).map(([name, content]) => isSectionName(name) && section(name, String(content))),
  ];
  return parts.filter((part) => typeof part === "string" && part !== "").join("\n\n");
}

const isSectionName = (name: string) => /^[a-z][a-z0-9_-]*$/.test(name) && name !== "preamble";

/** Undefined without content. */
function section(name: string, content: string): string | undefined {
  return content === "" ? undefined : `<${name}>\n${content}\n</${name}>`;
}

/** A tool may be called "constructor". */
function ownOf<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function toolList({ selectedTools, toolSnippets }: SystemPromptOptions): string {
  const lines = selectedTools.flatMap((name) => {
    const snippet = ownOf(toolSnippets, name)?.replace(/\s+/g, " ").trim();
    return snippet ? [`- ${name}: ${snippet}`] : [];
  });
  return `${lines.length > 0 ? lines.join("\n") : "(none)"}\n\nThere may be further tools, depending on the project.`;
}

function rules({ selectedTools, toolGuidelines, promptGuidelines }: SystemPromptOptions): string {
  const isActive = (name: string) => selectedTools.includes(name);
  const searchesByShell = isActive("bash") && !["grep", "find", "ls"].some(isActive);
  const all = [
    ...(searchesByShell ? ["Search for files with bash: ls, rg, find."] : []),
    ...selectedTools.flatMap((name) => ownOf(toolGuidelines, name) ?? []),
    ...promptGuidelines,
    "Be concise.",
    "Show file paths clearly when you talk about files.",
  ];
  const bullets = new Set(all.map((rule) => rule.trim()).filter((rule) => rule !== ""));
  return [...bullets].map((rule) => `- ${rule}`).join("\n");
}

function projectContext({ contextFiles }: SystemPromptOptions): string {
  if (contextFiles.length === 0) return "";
  const files = contextFiles.map(({ path, content }) => `<project_instructions path="${path}">\n${content}\n</project_instructions>`);
  return ["Instructions and guidelines of the user and the project:", ...files].join("\n\n");
}

type ListedSkill = Pick<SystemPromptOptions["skills"][number], "name" | "description" | "filePath"> & { disableModelInvocation?: boolean };

/** Only what a model needs to choose a skill; it reads the file when it does. */
function skillList({ skills, selectedTools }: SystemPromptOptions): string {
  const reader = ["read", "bash"].find((name) => selectedTools.includes(name));
  return reader ? listSkills(skills, reader) : "";
}

export function listSkills(skills: readonly ListedSkill[], reader: string): string {
  const visible = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
  if (visible.length === 0) return "";
  const items = visible.map(({ name, description, filePath }) =>
    [
      "  <skill>",
      `    <name>${escaped(name)}</name>`,
      `    <description>${escaped(description)}</description>`,
      `    <location>${escaped(filePath)}</location>`,
      "  </skill>",
    ].join("\n"),
  );
  const advice =
    `Skills are instructions for special tasks. When a task fits the description of one, load its file with the ${reader} tool before you start. ` +
    "Relative paths in a skill are relative to the directory of its file.";
  return `${advice}\n\n<available_skills>\n${items.join("\n")}\n</available_skills>`;
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] as string);
}
