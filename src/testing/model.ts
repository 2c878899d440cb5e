/** The model of a test: it answers from a list that the test may add to, and remembers what it was asked. */
import { definePlugin, type Model, type ModelRequest, type Plugin } from "../../core/index.ts";
import type {} from "../../plugins/models/contract.ts";
import { play, type Script, type ScriptModule, type ScriptResponse } from "../../plugins/providers/scripted-play.ts";

export type { ScriptResponse, ScriptStep } from "../../plugins/providers/scripted-play.ts";

/** Responses in order, or a function that is asked for each request. */
export type Responses = (ScriptResponse | string)[] | Exclude<ScriptModule, Script>;

const PROVIDER = "test";
const model: Model = {
  id: "script",
  name: "The test's script",
  api: PROVIDER,
  provider: PROVIDER,
  baseUrl: "",
  reasoning: true,
  input: ["text", "image"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 200_000,
  maxTokens: 16_384,
};

export class TestModel {
  /** the `--model` that names it */
  readonly name = `${PROVIDER}/${model.id}`;
  responses: Responses;
  /** every request, in order */
  readonly requests: ModelRequest[] = [];
  readonly plugin: Plugin;

  constructor(responses: Responses, overrides: Partial<Model> = {}) {
    this.responses = responses;
    this.plugin = definePlugin({
      name: "testing:model",
      apply: (kernel) => {
        kernel.registry("modelSources").add({ name: PROVIDER, models: [{ ...model, ...overrides }], keyless: true, hidden: true });
        kernel.registry("providers").add({ name: PROVIDER, stream: (request) => this.#stream(request) });
      },
    });
  }

  #stream(request: ModelRequest) {
    const index = this.requests.push(request) - 1;
    return play(request, Array.isArray(this.responses) ? { responses: this.responses } : this.responses, index);
  }
}
