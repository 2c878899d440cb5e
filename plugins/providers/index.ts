/** The wire APIs. Each is a plugin of its own and reads its SDK at the first request. */
import { anthropicMessages } from "./anthropic-messages.ts";
import { openaiCompletions } from "./openai-completions.ts";
import { openaiResponses } from "./openai-responses.ts";

export default [anthropicMessages, openaiCompletions, openaiResponses];
