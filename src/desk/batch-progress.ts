/** How far a batch is, in a bar and in words, on its page and in the list of batches. */
import { bar, type Html, label } from './html.ts';

/** Amber is what has finished, and is not paid in full. */
export function batchBar({ count, done, paid }: Readonly<Record<'count' | 'done' | 'paid', number>>): Html {
  const about = `${done} of ${count} have finished, ${paid} of them paid in full`;
  return bar([[paid], [done - paid, 'warn']], count, about);
}

/** `10 paid · 1 paid in part · 1 failed`. */
export function countsText(counts: readonly (readonly [code: string, count: number | undefined])[]): string {
  return counts
    .filter(([, count]) => count)
    .map(([code, count]) => `${count} ${label(code).toLowerCase()}`)
    .join(' · ');
}
