/** A client of OpenAI's SDK for one request: OpenAI itself, Azure, or a server that speaks like them. */
import type { OpenAI } from "openai";
import type { Model } from "../../../core/index.ts";
import type { Auth } from "../../models/contract.ts";
import { hostOf, isAzureHost } from "./compat.ts";
import type { Environment } from "./environment.ts";
import type { Address } from "./exchange.ts";

/** Sends a payload in bytes, which the SDK's own methods do not take. */
export async function postOpenai(path: string, payload: object & { model?: unknown }, address: Address, model: Model, environment: Environment): Promise<void> {
  const client = await openaiClient(model, address, environment);
  const body = address.json({ ...payload, model: deploymentOf(String(payload.model), model, environment) });
  await client.post(path, { body, headers: { "content-type": "application/json" }, stream: true }).asResponse();
}

async function openaiClient(model: Model, { baseUrl, headers, fetch }: Address, environment: Environment): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  const version = isAzure(model, baseUrl) ? environment.env("AZURE_OPENAI_API_VERSION") : undefined;
  return new OpenAI({
    baseURL: isAzure(model, baseUrl) ? azureAddress(baseUrl) : baseUrl,
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
}

/** How the key is sent. */
export function keyHeaders(model: Model, auth: Auth, baseUrl: string): Record<string, string | null> {
  if (auth.apiKey === undefined) return { authorization: null };
  if (isAzure(model, baseUrl)) return { authorization: null, "api-key": auth.apiKey };
  return { authorization: `Bearer ${auth.apiKey}` };
}

/** The name of the deployment, where it differs from the model's: `model=deployment,…`. */
function deploymentOf(modelId: string, model: Model, environment: Environment): string {
  if (!isAzure(model, model.baseUrl)) return modelId;
  const pairs = (environment.env("AZURE_OPENAI_DEPLOYMENT_NAME_MAP") ?? "").split(",").map((pair) => pair.split("=").map((part) => part.trim()));
  return pairs.find(([name]) => name === modelId)?.[1] || modelId;
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
