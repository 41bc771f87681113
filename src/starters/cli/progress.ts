/** A batch's progress as one line that is written over and over: on a terminal only, and never into the answer. */
import type { BatchState } from '../../domain/batch.ts';
import { colours } from './colours.ts';

const WIDTH = 30;
const ERASE_LINE = '\r\u001b[2K';

export interface Progress {
  show(state: BatchState): void;
  end(): void;
}

export function showProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return { show: () => undefined, end: () => undefined };
  return {
    show: (state) => void stream.write(`${ERASE_LINE}${progressLine(state)}`),
    end: () => void stream.write(ERASE_LINE),
  };
}

export function progressLine(state: BatchState): string {
  const { phase, count, added, started, joined, done, bad, needingAttention } = state;
  const many = phase === 'RECEIVING' ? added : done;
  const full = Math.floor((WIDTH * many) / count);
  const bar = `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}`;
  const parts = [
    phase === 'RECEIVING' ? `${added} of ${count} rows sent` : `${done} of ${count} rows ended`,
    phase !== 'RECEIVING' && `${started + joined - done + bad} open`,
    bad > 0 && colours.red(`${bad} bad`),
    needingAttention > 0 && colours.yellow(`${needingAttention} need a person`),
  ];
  return `${colours.green(bar)} ${parts.filter((part) => typeof part === 'string').join(', ')}`;
}
