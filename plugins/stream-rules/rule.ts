/** One stream rule: read from plain data, whole or refused with a sentence. */
import type { BlockEvent } from "../../core/index.ts";
import type { TriggeredRule } from "./contract.ts";

const scopes = ["text", "thinking", "toolcall"] as const;
export type RuleScope = (typeof scopes)[number];

export interface Rule extends TriggeredRule {
  patterns: RegExp[];
  /** parts of the stream that it watches */
  scopes: ReadonlySet<RuleScope>;
  /** how often it may interrupt per prompt */
  limit: number;
  /** what the model is told */
  text: string;
}

/** The part of the stream that an increment belongs to. */
export function scopeOf(event: BlockEvent): RuleScope {
  return event.type.slice(0, event.type.indexOf("_")) as RuleScope;
}

/** Reads a rule from a settings item or a file's frontmatter. Throws a sentence without the rule's name. */
export function readRule(given: Record<string, unknown>, defaults: { name?: string; path?: string; text?: string }): Rule {
  const name = optionalText(given, "name") ?? defaults.name;
  if (!name) throw new Error('"name" is missing');
  const description = optionalText(given, "description");
  const text = (optionalText(given, "text") ?? defaults.text ?? "").trim() || description;
  if (!text) throw new Error("it has no text to tell the model");
  return {
    name,
    ...(description !== undefined && { description }),
    ...(defaults.path !== undefined && { path: defaults.path }),
    patterns: readPatterns(given),
    scopes: readScopes(given.scope),
    limit: readLimit(given.limit),
    text,
  };
}

function optionalText(given: Record<string, unknown>, key: string): string | undefined {
  const value = given[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Error(`"${key}" must be a string`);
  return value.trim() || undefined;
}

function readPatterns(given: Record<string, unknown>): RegExp[] {
  const sources = [given.pattern, given.patterns].flat().filter((source) => source !== undefined && source !== null);
  if (sources.length === 0) throw new Error('it needs a "pattern" or "patterns"');
  return sources.map((source) => {
    if (typeof source !== "string" || source === "") throw new Error("a pattern must be a non-empty string");
    const literal = /^\/(.+)\/([imsu]*)$/s.exec(source);
    // Global, because matching begins inside of the window (see StreamMatcher).
    const pattern = new RegExp(literal?.[1] ?? source, `g${literal?.[2] ?? ""}`);
    if (pattern.test("")) throw new Error("a pattern must not match the empty text");
    return pattern;
  });
}

function readScopes(given: unknown): ReadonlySet<RuleScope> {
  const names = given === undefined || given === null ? ["text", "toolcall"] : [given].flat();
  for (const name of names) {
    if (!scopes.includes(name as RuleScope)) throw new Error(`"scope" must be one or more of ${scopes.join(", ")}`);
  }
  return new Set(names as RuleScope[]);
}

function readLimit(given: unknown): number {
  if (given === undefined || given === null) return 1;
  if (!Number.isSafeInteger(given) || (given as number) < 1) throw new Error('"limit" must be a whole number of at least 1');
  return given as number;
}
