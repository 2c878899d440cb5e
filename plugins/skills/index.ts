/** Skills: instructions in files that the model reads when it needs them, or that `/skill:name` puts into the prompt. */
import { basename, dirname } from "node:path";
import { definePlugin, messageOf, type PluginList, Stage } from "../../core/index.ts";
import type { ResourceFile } from "../resources/contract.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { parseFrontmatter, splitFrontmatter } from "../shared/frontmatter.ts";
import { readTextFile } from "../shared/text-file.ts";
import type { Skill } from "./contract.ts";

const NAME_LENGTH = 64;
const DESCRIPTION_LENGTH = 1024;

/** Skills from files, each its own contribution. */
const skillFiles = definePlugin({
  name: "skill-files",
  apply(kernel) {
    const complain = complainer(kernel, "skills");
    let undo: (() => void)[] = [];
    const load = async () => {
      const resources = kernel.tryService("resources");
      if (!resources) return;
      const skills = await readSkills(await resources.files("skills"), complain);
      for (const withdraw of undo) withdraw();
      undo = skills.map((skill) => kernel.registry("skills").add(skill));
    };
    kernel.hooks.start.tap("skill-files", async () => {
      const resources = kernel.tryService("resources");
      if (resources) kernel.own(resources.hooks).changed.tap("skill-files", load);
      await load();
    });
  },
});

const skills = definePlugin({
  name: "skills",
  apply(kernel) {
    kernel.hooks.input.tap({ name: "skills", stage: Stage.expand }, async (draft) => {
      if (!draft.expand) return;
      const [, name = "", args = ""] = /^\/skill:([^ ]+)([\s\S]*)$/.exec(draft.text) ?? [];
      const skill = name && kernel.registry("skills").get(name);
      if (!skill) return;
      try {
        draft.text = skillBlock(skill, readTextFile(skill.filePath), args.trim());
      } catch (error) {
        kernel.fault({ from: skill.filePath, during: "skill_expansion", error });
      }
    });
  },
});

export default [skillFiles, skills] satisfies PluginList;

/** The tag and its two attributes are an interface: clients recognise the block by them. */
function skillBlock({ name, filePath, baseDir }: Skill, text: string, args: string): string {
  const { body } = splitFrontmatter(text);
  const block = `<skill name="${name}" location="${filePath}">\nReferences in this skill are relative to ${baseDir}.\n\n${body}\n</skill>`;
  return args ? `${block}\n\n${args}` : block;
}

/** In order; of two with the same name the first stays. */
async function readSkills(files: readonly ResourceFile[], complain: Complain): Promise<Skill[]> {
  const found = new Map<string, Skill>();
  for (const file of files) {
    try {
      const skill = await readSkill(file, complain);
      if (!skill) continue;
      const winner = found.get(skill.name);
      if (winner) complain(`Skill "${skill.name}" of ${skill.filePath} is not used: ${winner.filePath} has the name already`);
      else found.set(skill.name, skill);
    } catch (error) {
      complain(`${file.path} is not loaded: ${messageOf(error)}`);
    }
  }
  return [...found.values()];
}

/** undefined: without a description nobody could tell when to use it. */
async function readSkill({ path, sourceInfo }: ResourceFile, complain: Complain): Promise<Skill | undefined> {
  const { attributes } = await parseFrontmatter(readTextFile(path));
  const baseDir = dirname(path);
  const description = typeof attributes.description === "string" ? attributes.description.trim() : "";
  if (!description) {
    // Other Markdown files beside skills are often just notes.
    if (basename(path) === "SKILL.md") complain(`${path} is not loaded: it has no description`);
    return undefined;
  }
  const name = typeof attributes.name === "string" && attributes.name ? attributes.name : basename(baseDir);
  for (const problem of nameProblems(name)) complain(`${path}: the name "${name}" ${problem}`);
  if (description.length > DESCRIPTION_LENGTH) complain(`${path}: the description is longer than ${DESCRIPTION_LENGTH} characters`);
  return { name, description, filePath: path, baseDir, sourceInfo, disableModelInvocation: attributes["disable-model-invocation"] === true };
}

function nameProblems(name: string): string[] {
  const problems: string[] = [];
  if (!/^[a-z0-9-]*$/.test(name)) problems.push("may hold only a-z, 0-9 and hyphens");
  if (name.length > NAME_LENGTH) problems.push(`is longer than ${NAME_LENGTH} characters`);
  if (/^-|-$|--/.test(name)) problems.push("may not begin or end with a hyphen or hold two in a row");
  return problems;
}
