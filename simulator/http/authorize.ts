/** Authorizes a request by its token and signature. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Settings } from '../settings.ts';
import type { AccessToken, TokenState } from '../state/tokens.ts';
import type { World } from '../world.ts';
import { unauthorized } from './envelope.ts';
import type { Operation, Received } from './operation.ts';

export interface Credential {
  state: TokenState;
  record: AccessToken | undefined;
  scheme: 'bearer' | 'bare';
}

const BEARER = /^Bearer +/i;

export function credentialOf(world: World, authorization: string | undefined): Credential {
  if (!authorization) return { state: 'missing', record: undefined, scheme: 'bare' };
  const scheme = BEARER.test(authorization) ? 'bearer' : 'bare';
  return { ...world.tokens.lookUp(authorization.replace(BEARER, '').trim()), scheme };
}

/** Returns the application and the token of the request. Throws the provider's refusal. */
export function authorize(
  operation: Operation,
  credential: Credential,
  received: Received,
): Pick<Received, 'app' | 'token'> {
  const { settings, apps } = received.world;
  if (operation.auth === 'none') return { app: undefined, token: undefined };
  const { record, state } = credential;
  if (!record || state !== 'valid') throw unauthorized(settings, `access token ${state}`);
  checkPlacement(operation, credential, record, settings);
  if (operation.auth === 'trade') checkSignature(operation, received, settings);
  return { app: apps.get(record.appId), token: record };
}

function checkPlacement(
  operation: Operation,
  credential: Credential,
  record: AccessToken,
  settings: Settings,
): void {
  const wanted = operation.auth === 'trade' ? settings.tradeToken : settings.gatewayToken;
  if (wanted !== 'any' && wanted !== record.kind)
    throw unauthorized(settings, `this endpoint takes the ${wanted} token`);
  const scheme = operation.auth === 'trade' ? settings.tradeAuthScheme : 'any';
  if (scheme !== 'any' && scheme !== credential.scheme)
    throw unauthorized(settings, `this endpoint takes the ${scheme} token form`);
}

/** Accepts hex and base64: the spec names neither the algorithm nor the header. */
function checkSignature(operation: Operation, received: Received, settings: Settings): void {
  if (settings.signatureSecret === '') return;
  const given = received.headers[settings.signatureHeader.toLowerCase()];
  const expected = createHmac('sha256', settings.signatureSecret)
    .update(signedContent(operation, received, settings))
    .digest();
  const candidates =
    typeof given === 'string' ? [Buffer.from(given, 'hex'), Buffer.from(given, 'base64')] : [];
  const matches = candidates.some(
    (candidate) => candidate.length === expected.length && timingSafeEqual(candidate, expected),
  );
  if (!matches) throw unauthorized(settings, 'signature not valid');
}

function signedContent(operation: Operation, received: Received, settings: Settings): string {
  if (settings.signatureContent === 'body') return received.rawBody;
  const timestamp = String(received.headers['x-timestamp']);
  return [operation.method, operation.path, timestamp, received.rawBody].join('\n');
}
