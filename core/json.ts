/** JSON as it was before foreign code came: some puts one that writes more neatly, or something else, in its place. */
export const ownJson = { parse: JSON.parse, stringify: JSON.stringify };
