/** The catalogue: providers and models that are known without configuration. Data only; the wire APIs are elsewhere. */
import { definePlugin } from "../../../core/index.ts";
import { anthropic } from "./anthropic.ts";
import { hosted } from "./hosted.ts";
import { local } from "./local.ts";
import { azure, openai } from "./openai.ts";

export const catalog = definePlugin({
  name: "catalog",
  apply(kernel) {
    for (const source of [anthropic, openai, ...hosted, azure, ...local]) kernel.registry("modelSources").add(source);
  },
});

export default [catalog];
