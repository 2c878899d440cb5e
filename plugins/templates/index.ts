/** Prompt templates: `/name args` is replaced by the text of a file, or of whatever else a plugin contributed. */
import { basename } from "node:path";
import { definePlugin, messageOf, type PluginList, type PromptTemplate, Stage } from "../../core/index.ts";
import type { ResourceFile } from "../resources/contract.ts";
import { type Complain, complainer } from "../shared/complaints.ts";
import { parseFrontmatter } from "../shared/frontmatter.ts";
import { readTextFile } from "../shared/text-file.ts";
import { fillPlaceholders, splitArguments } from "./arguments.ts";

const DESCRIPTION_LENGTH = 60;

/** Templates from files, each its own contribution. */
const templateFiles = definePlugin({
  name: "template-files",
  apply(kernel) {
    const complain = complainer(kernel, "templates");
    let undo: (() => void)[] = [];
    const load = async () => {
      const resources = kernel.tryService("resources");
      if (!resources) return;
      const templates = await readTemplates(await resources.files("prompts"), complain);
      for (const withdraw of undo) withdraw();
      undo = templates.map((template) => kernel.registry("promptTemplates").add(template));
    };
    kernel.hooks.start.tap("template-files", async () => {
      const resources = kernel.tryService("resources");
      if (resources) kernel.own(resources.hooks).changed.tap("template-files", load);
      await load();
    });
  },
});

const templates = definePlugin({
  name: "templates",
  apply(kernel) {
    kernel.hooks.input.tap({ name: "templates", stage: Stage.expand }, (draft) => {
      if (!draft.expand) return;
      const [, name = "", args = ""] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(draft.text) ?? [];
      const template = name && kernel.registry("promptTemplates").get(name);
      if (template) draft.text = fillPlaceholders(template.body, splitArguments(args));
    });
  },
});

export default [templateFiles, templates] satisfies PluginList;

/** In order; of two with the same name the first stays. */
async function readTemplates(files: readonly ResourceFile[], complain: Complain): Promise<PromptTemplate[]> {
  const found = new Map<string, PromptTemplate>();
  for (const { path, sourceInfo } of files) {
    try {
      const { attributes, body } = await parseFrontmatter(readTextFile(path));
      const name = basename(path, ".md");
      const winner = found.get(name);
      if (winner) {
        complain(`/${name} of ${path} is not used: ${winner.sourceInfo?.path} has the name already`);
        continue;
      }
      const hint = attributes["argument-hint"];
      found.set(name, {
        name,
        description: typeof attributes.description === "string" && attributes.description.trim() ? attributes.description : firstLine(body),
        ...(typeof hint === "string" && { argumentHint: hint }),
        sourceInfo,
        body,
      });
    } catch (error) {
      complain(`${path} is not loaded: ${messageOf(error)}`);
    }
  }
  return [...found.values()];
}

function firstLine(body: string): string {
  const line = body.split("\n").find((candidate) => candidate.trim() !== "") ?? "";
  return line.length > DESCRIPTION_LENGTH ? `${line.slice(0, DESCRIPTION_LENGTH)}...` : line;
}
