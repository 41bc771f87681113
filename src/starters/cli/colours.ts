/** Colours on a terminal only: by itself picocolors colours pipes too wherever CI is set, and their readers are programs. */
import pc from 'picocolors';

const { NO_COLOR, FORCE_COLOR, TERM } = process.env;

export const colours = pc.createColors(
  !NO_COLOR && (Boolean(FORCE_COLOR) || (process.stdout.isTTY === true && TERM !== 'dumb')),
);
