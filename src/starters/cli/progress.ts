/** Shows the progress of a batch as one line on standard error, if that is a terminal. */
import type { BatchState } from '../../domain/batch.ts';
import { colors } from './text.ts';

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
    bad > 0 && colors.red(`${bad} bad`),
    needingAttention > 0 && colors.yellow(`${needingAttention} need attention`),
  ];
  return `${colors.green(bar)} ${parts.filter((part) => typeof part === 'string').join(', ')}`;
}
