/** `node is-ready.mjs URL`: a health check for images without curl. Succeeds if the URL responds with 200. */
import { argv, exit } from 'node:process';

const [url = ''] = argv.slice(2);
try {
  const { ok } = await fetch(url, { signal: AbortSignal.timeout(2_500) });
  exit(ok ? 0 : 1);
} catch {
  exit(1);
}
