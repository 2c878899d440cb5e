/** Mistakes in the parameters of tools that models and validation would stumble over. */
import type { Tool } from "../../core/index.ts";
import type { Problem } from "./report.ts";

type Schema = Record<string, unknown>;

const types = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);
const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);

export function toolMistakes(tool: Tool): Problem[] {
  const found: string[] = [];
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) found.push("its name may have letters, digits, _ and - only, at most 64: models refuse others");
  const parameters = tool.parameters as Schema;
  if (parameters.type !== "object") found.push('its parameters must have the type "object"');
  found.push(...mistakesIn(parameters, "parameters"));
  const errors = found.map((message): Problem => ({ level: "error", kind: "schema", message: `Tool ${tool.name}: ${message}` }));
  if (tool.description.trim() !== "") return errors;
  return [...errors, { level: "warning", kind: "schema", message: `Tool ${tool.name}: without a description the model does not know what it is for` }];
}

function mistakesIn(schema: unknown, where: string): string[] {
  if (typeof schema === "boolean") return [];
  if (!isSchema(schema)) return [`${where} is no JSON Schema`];
  return [...typeMistakes(schema, where), ...propertyMistakes(schema, where), ...patternMistakes(schema, where), ...nestedMistakes(schema, where)];
}

function typeMistakes({ type }: Schema, where: string): string[] {
  return [type ?? []].flat().flatMap((name) => (types.has(name as string) ? [] : [`${where} has the unknown type "${String(name)}"`]));
}

function propertyMistakes({ properties, required }: Schema, where: string): string[] {
  if (properties !== undefined && !isSchema(properties)) return [`${where}.properties must be an object`];
  if (required === undefined) return [];
  if (!Array.isArray(required)) return [`${where}.required must be a list of names`];
  const names = Object.keys(properties ?? {});
  return required.filter((name) => !names.includes(name as string)).map((name) => `${where} requires "${String(name)}", which is not among its properties`);
}

function patternMistakes({ pattern }: Schema, where: string): string[] {
  if (pattern === undefined) return [];
  try {
    new RegExp(String(pattern), "u");
    return [];
  } catch {
    return [`${where}.pattern is no regular expression`];
  }
}

function nestedMistakes(schema: Schema, where: string): string[] {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  const choices = ["anyOf", "oneOf", "allOf"].flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : []));
  return [
    ...properties.flatMap(([name, nested]) => mistakesIn(nested, `${where}.${name}`)),
    ...(schema.items !== undefined && !Array.isArray(schema.items) ? mistakesIn(schema.items, `${where}[]`) : []),
    ...choices.flatMap((nested) => mistakesIn(nested, where)),
  ];
}
