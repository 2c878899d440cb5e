/** The known word that a mistyped one was probably meant to be. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  // Of two words that are equally near, the one with as many letters.
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate), lengths: Math.abs(word.length - candidate.length) }))
    .sort((a, b) => a.distance - b.distance || a.lengths - b.lengths);
  const best = ranked[0];
  return best && best.distance <= Math.max(2, Math.floor(word.length / 2)) ? best.candidate : undefined;
}

/** Insertions, deletions, replacements and exchanged neighbours between two words. */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? (before[j - 2] as number) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, exchanged, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] as number;
}
