/** The address of OpenAI itself, Azure, or a server that speaks like them. */
import type { Model } from "../../../core/index.ts";
import type { Auth } from "../../models/contract.ts";
import { hostOf, isAzureHost } from "./compat.ts";
import type { Environment } from "./environment.ts";
import type { Address } from "./exchange.ts";
import { type Target, targetOf } from "./target.ts";

/** Where OpenAI's SDK sends requests of the path. The body is not its business: it would take it apart and copy it. */
export function openaiTarget(path: string, model: Model, { baseUrl, headers }: Address, environment: Environment): Promise<Target> {
  const isOnAzure = isAzure(model, baseUrl);
  const version = isOnAzure ? environment.env("AZURE_OPENAI_API_VERSION") : undefined;
  return targetOf(JSON.stringify([path, isOnAzure, baseUrl, version, headers]), async (fetch) => {
    const { OpenAI } = await import("openai");
    const client = new OpenAI({
      baseURL: isOnAzure ? azureAddress(baseUrl) : baseUrl,
      // The headers carry the credential; the SDK looks for none of its own.
      apiKey: "in-headers",
      adminAPIKey: null,
      organization: null,
      project: null,
      maxRetries: 0,
      timeout: 2 ** 31 - 1,
      logLevel: "off",
      defaultHeaders: headers,
      ...(version && { defaultQuery: { "api-version": version } }),
      fetch,
    });
    await client.post(path, { body: Buffer.alloc(0), headers: { "content-type": "application/json" }, stream: true }).asResponse();
  });
}

/** How the key is sent. */
export function keyHeaders(model: Model, auth: Auth, baseUrl: string): Record<string, string | null> {
  if (auth.apiKey === undefined) return { authorization: null };
  if (isAzure(model, baseUrl)) return { authorization: null, "api-key": auth.apiKey };
  return { authorization: `Bearer ${auth.apiKey}` };
}

/** The model's name there: on Azure that of its deployment, where it differs (`model=deployment,…`). */
export function deploymentOf(model: Model, environment: Environment): string {
  if (!isAzure(model, model.baseUrl)) return model.id;
  const pairs = (environment.env("AZURE_OPENAI_DEPLOYMENT_NAME_MAP") ?? "").split(",").map((pair) => pair.split("=").map((part) => part.trim()));
  return pairs.find(([name]) => name === model.id)?.[1] || model.id;
}

/** By its address, or by the name of its provider: there may be a gateway in front of it. */
function isAzure(model: Model, baseUrl: string): boolean {
  return model.provider.startsWith("azure") || isAzureHost(hostOf(baseUrl));
}

/** The bare address of a resource gets the path of the API. */
function azureAddress(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (/^\/(openai\/?)?$/.test(url.pathname)) url.pathname = "/openai/v1";
  return url.href.replace(/\/$/, "");
}
