/** Where stream rules come from: the settings, the user's and a trusted project's `rules` directories. */
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { messageOf, type PluginKernel } from "../../core/index.ts";
import type {} from "../settings/contract.ts";
import { parseFrontmatter } from "../shared/frontmatter.ts";
import { readTextFile } from "../shared/text-file.ts";
import { type Rule, readRule } from "./rule.ts";

interface Loaded {
  /** of the file's version that was read */
  stamp: string;
  rule?: Rule;
}

/** Reads rules before each prompt; files that did not change are not read again. */
export class RuleLoader {
  readonly #kernel: PluginKernel;
  readonly #files = new Map<string, Loaded>();
  readonly #reported = new Set<string>();

  constructor(kernel: PluginKernel) {
    this.#kernel = kernel;
  }

  /** Of several rules with one name the nearest counts: project, then user, then settings. */
  async load(): Promise<Rule[]> {
    const settings = this.#kernel.tryService("settings");
    if (!settings) return [];
    const rules = new Map<string, Rule>();
    for (const rule of this.#fromSettings(settings.get("streamRules"))) rules.set(rule.name, rule);
    const isTrusted = this.#kernel.tryService("trust")?.isTrusted() ?? false;
    for (const base of [settings.agentDir(), ...(isTrusted ? [settings.projectDir()] : [])]) {
      for (const rule of await this.#fromDirectory(join(base, "rules"))) rules.set(rule.name, rule);
    }
    return [...rules.values()];
  }

  #fromSettings(given: unknown): Rule[] {
    if (given === undefined) return [];
    if (!Array.isArray(given)) {
      this.#report("streamRules", 'The setting "streamRules" must be a list of rules.');
      return [];
    }
    return given.flatMap((item, index) => {
      try {
        return [readRule(item as Record<string, unknown>, {})];
      } catch (error) {
        this.#report(`${index}`, `Stream rule ${index + 1} of the settings is not usable: ${messageOf(error)}.`);
        return [];
      }
    });
  }

  async #fromDirectory(directory: string): Promise<Rule[]> {
    const names = await readdir(directory).catch(() => []);
    const rules: Rule[] = [];
    for (const name of names.filter((name) => name.endsWith(".md")).sort()) {
      const rule = await this.#fromFile(join(directory, name));
      if (rule) rules.push(rule);
    }
    return rules;
  }

  async #fromFile(path: string): Promise<Rule | undefined> {
    try {
      const { mtimeMs, size } = await stat(path);
      const stamp = `${mtimeMs}:${size}`;
      const known = this.#files.get(path);
      if (known?.stamp === stamp) return known.rule;
      this.#files.set(path, { stamp });
      const rule = await parseRuleFile(path, readTextFile(path));
      this.#files.set(path, { stamp, rule });
      return rule;
    } catch (error) {
      this.#report(path, `Stream rule ${path} is not usable: ${messageOf(error)}.`);
      return undefined;
    }
  }

  #report(source: string, problem: string): void {
    const key = `${source}\n${problem}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#kernel.fault({ during: "rules", error: new Error(problem) });
  }
}

/** Frontmatter, then the text for the model. */
async function parseRuleFile(path: string, source: string): Promise<Rule> {
  const { attributes, body } = await parseFrontmatter(source);
  return readRule(attributes, { name: basename(path, ".md"), path, text: body });
}
