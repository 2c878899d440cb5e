/** Images that enter the conversation with a prompt or a tool's result are made to fit, once. */
import { definePlugin, Stage } from "../../core/index.ts";
import type {} from "./contract.ts";

export const images = definePlugin({
  name: "images",
  apply(kernel) {
    const load = () => import("./actions/fit-images.ts");
    kernel.provide("images", { prepare: async (image) => (await load()).readableFit(kernel, image) });
    // After everybody who may change text and images.
    kernel.hooks.input.tap({ name: "images", stage: Stage.wire }, (draft) => {
      if (draft.images.length > 0) return load().then(({ fitPrompt }) => fitPrompt(kernel, draft));
    });
    kernel.hooks.toolResult.tap({ name: "images", stage: Stage.wire }, (outcome) => {
      if (outcome.content.some(({ type }) => type === "image")) return load().then(({ fitResult }) => fitResult(kernel, outcome));
    });
  },
});
