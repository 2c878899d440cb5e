/** models.json: the user's own providers and models. Read as a whole or not at all; comments are allowed. */
import { messageOf } from "../../core/index.ts";
import { parseJson } from "../shared/hand-written-json.ts";
import { readTextFile } from "../shared/text-file.ts";
import { isThinkingLevel } from "../shared/thinking.ts";
import type { ModelConfig, ProviderConfig } from "./contract.ts";

export type ModelOverride = Omit<ModelConfig, "id" | "api" | "baseUrl">;

export interface CustomProvider extends ProviderConfig {
  modelOverrides?: Record<string, ModelOverride>;
}

export class CustomModels {
  readonly #path: () => string | undefined;
  #text: string | undefined;
  #providers: ReadonlyMap<string, CustomProvider> = new Map();
  error: string | undefined;

  constructor(path: () => string | undefined) {
    this.#path = path;
  }

  /** a new object whenever the file has changed */
  get providers(): ReadonlyMap<string, CustomProvider> {
    return this.#providers;
  }

  /** Reads the file; what it says counts from then on. */
  read(): void {
    const path = this.#path();
    if (!path) return;
    try {
      const text = readTextFile(path);
      if (text === this.#text) return;
      this.#text = text;
      this.error = undefined;
      this.#providers = new Map();
      this.#providers = parseCustomModels(text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") this.#forget();
      else this.error = `${path} is ignored: ${messageOf(error)}`;
    }
  }

  #forget(): void {
    if (this.#text === undefined) return;
    this.#text = undefined;
    this.error = undefined;
    this.#providers = new Map();
  }
}

/** Checks the text; throws a sentence that names the place. */
export function parseCustomModels(text: string): ReadonlyMap<string, CustomProvider> {
  const root = parseJson(withoutComments(text));
  const providers = object(root, "the file").providers;
  return new Map(Object.entries(object(providers, "providers")).map(([id, value]) => [id, provider(value, `providers.${id}`)]));
}

/** Comments become blanks, so that positions in the parser's complaints stay right. */
export function withoutComments(text: string): string {
  return text
    .replace(/^\uFEFF/, "")
    .replace(/"(?:\\.|[^"\\])*"|\/\/[^\n\r]*|\/\*[\s\S]*?\*\//g, (token) => (token.startsWith('"') ? token : token.replace(/[^\n\r]/g, " ")));
}

// ---------------------------------------------------------------- the shape of the file

type Fields = Record<string, unknown>;
type Check = (value: unknown, where: string) => void;

const must =
  (expected: string, fits: (value: unknown) => boolean): Check =>
  (value, where) => {
    if (!fits(value)) throw new Error(`${where} must be ${expected}`);
  };

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isAmount = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value >= 0;
const text = must("a string", (value) => typeof value === "string");
const name = must("a non-empty string", (value) => typeof value === "string" && value.trim() !== "");
const flag = must("true or false", (value) => typeof value === "boolean");
const amount = must("a number of at least 0", isAmount);
const tokens = must("a positive number", (value) => isAmount(value) && (value as number) > 0);
const record = must("an object", isObject);
const texts = must("an object of strings", (value) => isObject(value) && Object.values(value).every((item) => typeof item === "string"));
const kinds = must('a list of "text" and "image"', (value) => Array.isArray(value) && value.every((item) => item === "text" || item === "image"));
const levels = must(
  "an object from thinking levels to strings or null",
  (value) => isObject(value) && Object.entries(value).every(([level, item]) => isThinkingLevel(level) && (item === null || typeof item === "string")),
);

const rates: Record<string, Check> = { input: amount, output: amount, cacheRead: amount, cacheWrite: amount };
const cost: Check = (value, where) => {
  checkFields(object(value, where), rates, where);
  const { tiers = [] } = value as Fields;
  if (!Array.isArray(tiers)) throw new Error(`${where}.tiers must be a list`);
  for (const [index, tier] of tiers.entries()) {
    const place = `${where}.tiers[${index}]`;
    const fields = object(tier, place);
    for (const key of ["inputTokensAbove", ...Object.keys(rates)]) amount(fields[key], `${place}.${key}`);
  }
};

const overrideFields: Record<string, Check> = {
  name: text,
  reasoning: flag,
  thinkingLevelMap: levels,
  input: kinds,
  cost,
  contextWindow: tokens,
  maxTokens: tokens,
  headers: texts,
  compat: record,
  inputLimits: record,
  promptCache: record,
  samplingParams: record,
};
const modelFields: Record<string, Check> = { ...overrideFields, api: name, baseUrl: name };
const providerFields: Record<string, Check> = { name: text, baseUrl: name, apiKey: name, api: name, headers: texts, authHeader: flag, compat: record };

function provider(value: unknown, where: string): CustomProvider {
  const fields = object(value, where);
  checkFields(fields, providerFields, where);
  const { name: displayName, models, modelOverrides, ...rest } = pick(fields, [...Object.keys(providerFields), "models", "modelOverrides"]);
  return {
    ...rest,
    ...(displayName !== undefined && { displayName: displayName as string }),
    ...(models !== undefined && { models: list(models, `${where}.models`).map((item, index) => model(item, `${where}.models[${index}]`)) }),
    ...(modelOverrides !== undefined && { modelOverrides: overrides(modelOverrides, `${where}.modelOverrides`) }),
  };
}

function model(value: unknown, where: string): ModelConfig {
  const fields = object(value, where);
  name(fields.id, `${where}.id`);
  checkFields(fields, modelFields, where);
  return pick(fields, ["id", ...Object.keys(modelFields)]) as ModelConfig;
}

function overrides(value: unknown, where: string): Record<string, ModelOverride> {
  return Object.fromEntries(
    Object.entries(object(value, where)).map(([id, item]) => {
      const fields = object(item, `${where}["${id}"]`);
      checkFields(fields, overrideFields, `${where}["${id}"]`);
      return [id, pick(fields, Object.keys(overrideFields)) as ModelOverride];
    }),
  );
}

function object(value: unknown, where: string): Fields {
  record(value, where);
  return value as Fields;
}

function list(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw new Error(`${where} must be a list`);
  return value;
}

function checkFields(fields: Fields, checks: Record<string, Check>, where: string): void {
  for (const [key, check] of Object.entries(checks)) if (fields[key] !== undefined) check(fields[key], `${where}.${key}`);
}

function pick(fields: Fields, keys: string[]): Fields {
  return Object.fromEntries(keys.flatMap((key) => (fields[key] === undefined ? [] : [[key, fields[key]]])));
}
