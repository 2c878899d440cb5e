/** Skills for extensions that look after some of their own: read from directories, and listed for a prompt. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf, type SourceInfo } from "../../../core/index.ts";
import type { Skill } from "../../skills/contract.ts";
import { listSkills } from "../../system-prompt/render.ts";
import { parseFrontmatter } from "./frontmatter.ts";

interface Loaded {
  skills: Skill[];
  diagnostics: { type: "warning"; message: string; path: string }[];
}

interface Defaults {
  cwd(): string;
  agentDir(): string;
  configDir: string;
}

export function skillFunctions(defaults: Defaults) {
  return {
    /** The text that tells a model which skills there are; empty without any. */
    formatSkillsForPrompt: (skills: readonly Skill[]) => listSkills(skills, "read"),
    loadSkillsFromDir: ({ dir, source = "path" }: { dir: string; source?: string }): Loaded => {
      const loaded: Loaded = { skills: [], diagnostics: [] };
      addFrom(resolve(dir), source, true, loaded);
      return loaded;
    },
    /** Those of the project and of the user, then the given paths; of two with one name the first stays. */
    loadSkills: (options: { cwd?: string; agentDir?: string; skillPaths?: string[]; includeDefaults?: boolean } = {}): Loaded => {
      const { cwd = defaults.cwd(), agentDir = defaults.agentDir(), skillPaths = [], includeDefaults = true } = options;
      const found: Loaded = { skills: [], diagnostics: [] };
      if (includeDefaults) {
        addFrom(join(cwd, defaults.configDir, "skills"), "project", true, found);
        addFrom(join(agentDir, "skills"), "user", true, found);
      }
      for (const path of skillPaths.map((given) => resolve(cwd, given))) {
        if (existsSync(path) && statSync(path).isFile()) add(path, "path", found);
        else addFrom(path, "path", true, found);
      }
      return { ...found, skills: found.skills.filter((skill, index) => found.skills.findIndex(({ name }) => name === skill.name) === index) };
    },
  };
}

/** A directory with a SKILL.md is one skill; any other is searched, and at its top single files count too. */
function addFrom(directory: string, source: string, isTop: boolean, into: Loaded): void {
  if (!existsSync(directory)) return;
  if (existsSync(join(directory, "SKILL.md"))) {
    add(join(directory, "SKILL.md"), source, into);
    return;
  }
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    if (name.startsWith(".") || name === "node_modules" || !existsSync(path)) continue;
    if (statSync(path).isDirectory()) addFrom(path, source, false, into);
    else if (isTop && name.endsWith(".md")) add(path, source, into);
  }
}

function add(filePath: string, source: string, { skills, diagnostics }: Loaded): void {
  try {
    const { frontmatter } = parseFrontmatter(readFileSync(filePath, "utf8"));
    const baseDir = dirname(filePath);
    const { name, description } = frontmatter;
    if (typeof description !== "string" || !description.trim()) throw new Error("it has no description");
    const scope: SourceInfo["scope"] = source === "user" || source === "project" ? source : "temporary";
    skills.push({
      name: typeof name === "string" && name ? name : basename(baseDir),
      description: description.trim(),
      filePath,
      baseDir,
      sourceInfo: { path: filePath, source, scope, origin: "top-level", baseDir },
      disableModelInvocation: frontmatter["disable-model-invocation"] === true,
    });
  } catch (error) {
    diagnostics.push({ type: "warning", message: `${filePath} is not loaded: ${messageOf(error)}`, path: filePath });
  }
}
