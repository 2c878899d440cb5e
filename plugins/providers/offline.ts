/** The model `offline/demo`: a deterministic, rule-based stand-in that takes real agent steps without key or network. */
import { definePlugin, type Model } from "../../core/index.ts";
import type {} from "../models/contract.ts";

const api = "offline";

const demo: Model = {
  id: "demo",
  name: "Offline demo",
  api,
  provider: "offline",
  baseUrl: "",
  reasoning: true,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 128_000,
  maxTokens: 8192,
};

export const offline = definePlugin({
  name: "provider:offline",
  apply(kernel) {
    kernel.registry("modelSources").add({ name: "offline", displayName: "Offline demo", models: [demo], keyless: true, hidden: true, defaultModel: "demo" });
    kernel.registry("providers").add({
      name: api,
      async *stream(request) {
        yield* (await import("./offline-answers.ts")).stream(request);
      },
    });
  },
});
