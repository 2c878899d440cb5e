/** What people see of models and credentials: `--list-models` and `auth check`. */
import type { Io, Model } from "../../core/index.ts";
import { supportedLevels } from "../shared/thinking.ts";
import type { Models } from "./contract.ts";
import type { ModelService } from "./service.ts";

/** Prints the available models, or with a search all that match every word of it. */
export async function listModels(models: ModelService, search: string | true | undefined, io: Io): Promise<number> {
  const words = typeof search === "string" ? search.toLowerCase().split(/\s+/).filter(Boolean) : [];
  // A server is asked only if it is named.
  for (const provider of models.providers()) if (words.includes(provider.toLowerCase())) await models.discover(provider);
  const matches = ({ provider, id, name }: Model) => words.every((word) => `${provider}/${id} ${name}`.toLowerCase().includes(word));
  const found = (words.length > 0 ? models.all() : models.available()).filter(matches);
  if (found.length === 0) {
    const hint = 'No provider has a credential. Set a key such as ANTHROPIC_API_KEY, or see "auth check".';
    io.stderr.write(`${words.length > 0 ? `No model matches "${words.join(" ")}".` : hint}\n`);
    return 0;
  }
  const rows = found.map((model) => [
    model.provider,
    model.id,
    amount(model.contextWindow),
    amount(model.maxTokens),
    supportedLevels(model).at(-1) === "off" ? "no" : `up to ${supportedLevels(model).at(-1)}`,
    model.input.includes("image") ? "yes" : "no",
    models.hasAuth(model) ? "yes" : "no",
  ]);
  io.stdout.write(table([["provider", "model", "context", "max-out", "thinking", "images", "key"], ...rows]));
  return 0;
}

/** Resolves each configured credential and says where it stands; never its value. */
export async function checkAuth(models: Models, args: readonly string[], io: Io): Promise<number> {
  await models.refresh();
  const [verb, ...wanted] = args;
  if (verb !== "check") {
    io.stderr.write("Usage: auth check [provider…]\n");
    return 1;
  }
  const known = models.providers();
  const unknown = wanted.filter((provider) => !known.includes(provider));
  for (const provider of unknown) io.stderr.write(`Unknown provider "${provider}".\n`);
  const rows: string[][] = [];
  let isAnyUsable = false;
  let isAllUsable = unknown.length === 0;
  for (const provider of known.filter((id) => wanted.length === 0 || wanted.includes(id))) {
    const status = models.authStatus(provider);
    if (status.source === "none needed" && wanted.length === 0) continue;
    const problem = await problemOf(models, provider);
    if (problem === undefined) isAnyUsable = true;
    else isAllUsable = false;
    rows.push([provider, problem ?? "ok", status.label ?? status.source ?? ""]);
  }
  io.stdout.write(table([["provider", "credential", "from"], ...rows]));
  return (wanted.length > 0 ? isAllUsable : isAnyUsable) ? 0 : 1;
}

async function problemOf(models: Models, provider: string): Promise<string | undefined> {
  if (!models.authStatus(provider).configured) return "none";
  try {
    return (await models.providerAuth(provider)) ? undefined : "not usable";
  } catch {
    return "login expired";
  }
}

/** 200000 as 200K. */
function amount(tokens: number): string {
  if (tokens >= 1_000_000) return `${Number((tokens / 1_000_000).toFixed(2))}M`;
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}K` : String(tokens);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
