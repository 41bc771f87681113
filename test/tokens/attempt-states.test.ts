import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { AttemptStates } from '../../src/client/authorizations.ts';
import { KeyRing } from '../../src/encryption/key-ring.ts';

const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const states = new AttemptStates('production', new KeyRing(new Map([['t1', OLD]])));
const NOW = Date.UTC(2026, 0, 1);
const state = states.issue('east', 'browser-1', NOW);

describe('H159 a link', () => {
  const { link, expiresAtMs } = states.issueLink('east', NOW);

  test('is accepted for its application until it expires, within a day', () => {
    expect(states.checkLink('east', link, NOW + 1_000)).toBe('valid');
    expect(states.checkLink('east', link, expiresAtMs - 1)).toBe('valid');
    expect(states.checkLink('east', link, expiresAtMs)).toBe('expired');
    expect(expiresAtMs - NOW).toBeLessThan(24 * 3_600_000);
  });

  test('is never the same twice, and no state; a state is no link', () => {
    expect(states.issueLink('east', NOW).link).not.toBe(link);
    expect(states.check('east', 'browser-1', link, NOW)).toBe('unknown');
    expect(states.check('east', '', link, NOW)).toBe('unknown');
    expect(states.checkLink('east', state, NOW)).toBe('unknown');
  });

  test('is invalid for another application, environment or key, and in the future', () => {
    expect(states.checkLink('west', link, NOW)).toBe('unknown');
    const sandbox = new AttemptStates('sandbox', new KeyRing(new Map([['t1', OLD]])));
    expect(sandbox.checkLink('east', link, NOW)).toBe('unknown');
    const foreign = new AttemptStates('production', new KeyRing(new Map([['t1', NEW]])));
    expect(foreign.checkLink('east', link, NOW)).toBe('unknown');
    expect(states.checkLink('east', link, NOW - 3_600_000)).toBe('unknown');
  });
});

describe('H49 the state of an attempt is stateless and unforgeable', () => {
  test('is accepted from the browser that started the attempt, within half an hour', () => {
    expect(states.check('east', 'browser-1', state, NOW + 1_000)).toBe('valid');
    expect(states.check('east', 'browser-1', state, NOW + 30 * 60_000)).toBe('expired');
  });

  test('is never the same twice', () => {
    expect(states.issue('east', 'browser-1', NOW)).not.toBe(state);
  });

  test('is invalid for another browser, application, environment or key', () => {
    expect(states.check('east', 'browser-2', state, NOW)).toBe('unknown');
    expect(states.check('west', 'browser-1', state, NOW)).toBe('unknown');
    const sandbox = new AttemptStates('sandbox', new KeyRing(new Map([['t1', OLD]])));
    expect(sandbox.check('east', 'browser-1', state, NOW)).toBe('unknown');
    const foreign = new AttemptStates('production', new KeyRing(new Map([['t1', NEW]])));
    expect(foreign.check('east', 'browser-1', state, NOW)).toBe('unknown');
    expect(new AttemptStates('production').check('east', 'browser-1', state, NOW)).toBe('unknown');
  });

  test('is invalid after any change', () => {
    for (let at = 0; at < state.length; at += 1) {
      const changed = `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`;
      // The last character contains bits that base64 drops.
      if (at < state.length - 1) expect(states.check('east', 'browser-1', changed, NOW)).toBe('unknown');
    }
    for (const junk of ['', 'x', 'x'.repeat(43), '.', 't1.', `t1.${'A'.repeat(60)}`, `${state}.${state}`])
      expect(states.check('east', 'browser-1', junk, NOW)).toBe('unknown');
  });

  test('stays valid across a rotation of the key', () => {
    const rotated = new KeyRing(
      new Map([
        ['t2', NEW],
        ['t1', OLD],
      ]),
    );
    expect(new AttemptStates('production', rotated).check('east', 'browser-1', state, NOW)).toBe('valid');
  });
});
