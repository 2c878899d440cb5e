/** `images.blockImages`: no provider gets an image, whoever brought the provider and whoever asks it. */
import { type Draft, definePlugin, type LlmMessage, type Provider, type UserContent } from "../../core/index.ts";
import type {} from "../settings/contract.ts";

/** Outside of all other wrappers: recordings do not hold what was not sent. */
const OUTERMOST = 2000;
const NOTE = "Image reading is disabled.";

export const blockedImages = definePlugin({
  name: "blocked-images",
  apply(kernel) {
    const isOn = () => kernel.tryService("settings")?.get("images.blockImages") === true;
    const wrapAll = (draft: Draft<Provider>) => {
      for (const [name, provider] of draft) {
        draft.set(name, {
          ...provider,
          stream: (request) => provider.stream(isOn() ? { ...request, messages: request.messages.map(withoutImages) } : request),
        });
      }
    };
    kernel.registry("providers").filter(wrapAll, OUTERMOST);
  },
});

/** The same message gives the same one: providers remember what they made of it. */
const known = new WeakMap<LlmMessage, LlmMessage>();

function withoutImages(message: LlmMessage): LlmMessage {
  if (message.role === "assistant" || typeof message.content === "string" || !message.content.some(({ type }) => type === "image")) return message;
  const before = known.get(message);
  if (before) return before;
  const blocked = { ...message, content: noted(message.content) };
  known.set(message, blocked);
  return blocked;
}

/** Neighbouring images become one note. */
function noted(content: readonly UserContent[]): UserContent[] {
  return content.flatMap((block, index): UserContent[] => {
    if (block.type !== "image") return [block];
    return content[index - 1]?.type === "image" ? [] : [{ type: "text", text: NOTE }];
  });
}
