/** What the model is told when it summarizes. */

export const SUMMARY_SYSTEM_PROMPT = `You summarize conversations between a user and a coding agent, so that another model can go on with the work from your summary alone.
Write the summary in the form asked for and nothing else. Do not continue the conversation, do not answer questions in it, do not call tools.`;

const exactness = "Keep exact file paths, names of functions and variables, commands and error texts. Leave out what is no longer of use. Be short.";

const headings = (withCritical: boolean) => `## Goal
[what the user wants; several goals if there are several]

## Constraints & Preferences
- [what the user demands or prefers, or "(none)"]

## Progress
### Done
- [x] [what is finished]

### In Progress
- [ ] [what is being worked on]

### Blocked
- [what stops the work, if anything]

## Key Decisions
- **[decision]**: [why]

## Next Steps
1. [what to do next, in order]${withCritical ? '\n\n## Critical Context\n- [facts, values, references without which the work cannot go on, or "(none)"]' : ""}`;

const fresh = `Summarize the conversation above in exactly this form:

${headings(true)}

${exactness}`;

const update = `The messages above came after the summary in <previous-summary>. Update that summary with them instead of writing a new one: keep what still holds, add what is new, move finished work from "In Progress" to "Done", bring "Next Steps" up to date, and drop only what no longer matters. Use exactly this form:

${headings(true)}

${exactness}`;

const prefix = `The text above is the beginning of one long turn; its later part is kept as it is and will follow your summary. Summarize the beginning so that the later part can be understood:

## Original Request
[what the user asked for in this turn]

## Early Progress
- [what was done and decided]

## Context for Suffix
- [what the later messages need to be understood]

${exactness}`;

const branch = `Summarize the branch of the conversation above, which is being left, so that its results can be used where the conversation goes on. Use exactly this form:

${headings(false)}

${exactness}`;

const focus = (instructions: string | undefined) => (instructions?.trim() ? `\n\nGive particular attention to this: ${instructions.trim()}` : "");

export function historyPrompt(conversation: string, options: { previousSummary?: string; instructions?: string }): string {
  const { previousSummary, instructions } = options;
  const previous = previousSummary === undefined ? "" : `<previous-summary>\n${previousSummary}\n</previous-summary>\n\n`;
  return `${quoted(conversation)}${previous}${previous ? update : fresh}${focus(instructions)}`;
}

export function turnPrefixPrompt(conversation: string, instructions: string | undefined): string {
  return `${quoted(conversation)}${prefix}${focus(instructions)}`;
}

export function branchPrompt(conversation: string, options: { instructions?: string; replace?: boolean }): string {
  const { instructions, replace } = options;
  const task = replace && instructions?.trim() ? instructions.trim() : `${branch}${focus(instructions)}`;
  return `${quoted(conversation)}${task}`;
}

function quoted(conversation: string): string {
  return `<conversation>\n${conversation}\n</conversation>\n\n`;
}

/** One summary out of that of the history and that of a turn's beginning. */
export function splitTurnSummary(history: string | undefined, turnPrefix: string): string {
  return `${history ?? "No prior history."}\n\n---\n\n**Turn Context (split turn):**\n\n${turnPrefix}`;
}

export const BRANCH_LEAD_IN = "The user explored another branch of this conversation before coming back to this point. What happened there:\n\n";
