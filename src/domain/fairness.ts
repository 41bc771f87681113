/** Who shares the call budget with whom. */

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/**
 * The seller as the engine's queues see it: a fingerprint (64-bit FNV-1a), for the engine does not encrypt it,
 * takes 64 bytes of it, and would refuse the call for one more. Two sellers that share one would only take turns
 * as one.
 */
export function fairnessKey(seller: string): string {
  let hash = OFFSET;
  for (let at = 0; at < seller.length; at += 1)
    hash = ((hash ^ BigInt(seller.charCodeAt(at))) * PRIME) & MASK;
  return hash.toString(16).padStart(16, '0');
}
