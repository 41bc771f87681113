/** How clients share the rate limit. */

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/**
 * The fairness key of a client: a 64-bit FNV-1a hash of its id. Temporal does not encrypt fairness keys and rejects
 * keys over 64 bytes. If two clients collide, they only share one turn.
 */
export function fairnessKey(id: string): string {
  let hash = OFFSET;
  for (let at = 0; at < id.length; at += 1) hash = ((hash ^ BigInt(id.charCodeAt(at))) * PRIME) & MASK;
  return hash.toString(16).padStart(16, '0');
}
