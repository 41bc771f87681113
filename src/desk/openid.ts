/**
 * Sign-in by an OpenID provider: the authorization code flow with PKCE, state and nonce. What the response must match is in
 * the session of the browser, so that any API server can complete the sign-in.
 */
import type { FastifyRequest } from 'fastify';
import * as client from 'openid-client';
import { z } from 'zod';
import { cached } from '../client/shared-reads.ts';
import type { OpenIdSettings } from '../config/desk-sign-in.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { Clock } from '../runtime/runtime.ts';
import { Problem } from '../service/problem.ts';

export const CALLBACK = '/desk/sign-in/callback';

const TIMEOUT_SECONDS = 5;
const SIGN_IN_MS = HOUR_MS / 6;

const pending = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The page after the sign-in. */
  next: z.string(),
  startedMs: z.number(),
});

declare module '@fastify/secure-session' {
  interface SessionData {
    pending: z.output<typeof pending>;
  }
}

/** `by` in histories and the audit trail. Without a slash, which separates a caller from its user. */
const personName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.@_+|:-]{0,94}$/);
const roleNames = z.union([z.array(z.string()), z.string().transform((role) => [role])]).default([]);

/** Whom the provider has signed in. */
export interface Person {
  name: string;
  roles: readonly string[];
}

export class OpenIdProvider {
  readonly #settings: OpenIdSettings;
  readonly #clock: Clock;
  /** Reads the provider's metadata when it is needed: the API server also starts without the provider. */
  readonly #configuration: () => Promise<client.Configuration>;

  constructor(settings: OpenIdSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#configuration = cached(() => discover(settings), HOUR_MS, clock);
  }

  isReachable(): Promise<boolean> {
    return this.#configuration().then(
      () => true,
      () => false,
    );
  }

  /** The address at which the person signs in. Throws a 503 if the provider can't be reached. */
  async begin({ session, log }: FastifyRequest, next: string): Promise<string> {
    const configuration = await this.#configuration().catch((error: unknown) => {
      log.warn({ code: codeOf(error) }, 'the OpenID provider cannot be reached');
      throw unreachable();
    });
    const [state, nonce, verifier] = [
      client.randomState(),
      client.randomNonce(),
      client.randomPKCECodeVerifier(),
    ];
    session.set('pending', { state, nonce, verifier, next, startedMs: this.#clock.wallMs() });
    return client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#settings.origin + CALLBACK,
      scope: this.#settings.scopes,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
  }

  /** Throws a 403 for a response that this browser did not ask for, or that the provider does not confirm. */
  async complete({ session, url, log }: FastifyRequest): Promise<Person & { next: string }> {
    const { data } = pending.safeParse(session.get('pending'));
    // A response counts once.
    session.set('pending', undefined);
    if (!data || this.#clock.wallMs() - data.startedMs >= SIGN_IN_MS)
      throw notAccepted('this browser has no sign-in in progress: it ended, or was completed');
    // Neither `Host` nor a proxy decides where the response was sent.
    const response = new URL(CALLBACK, this.#settings.origin);
    response.search = new URL(url, response).search;
    try {
      const tokens = await client.authorizationCodeGrant(await this.#configuration(), response, {
        expectedState: data.state,
        expectedNonce: data.nonce,
        pkceCodeVerifier: data.verifier,
      });
      return { ...this.#personOf(tokens.claims()), next: data.next };
    } catch (error) {
      // The code only: messages may quote the response.
      log.warn({ code: codeOf(error) }, 'sign-in refused');
      if (isUnreachable(error)) throw unreachable();
      throw error instanceof Problem
        ? error
        : notAccepted('the identity provider did not confirm the sign-in');
    }
  }

  #personOf(claims: Readonly<Record<string, unknown>> = {}): Person {
    const { nameClaim, rolesClaim } = this.#settings;
    const { sub, email_verified: verified = true, [nameClaim]: given, [rolesClaim]: listed } = claims;
    const isEmail = nameClaim === 'email';
    const isUsable = given !== undefined && (!isEmail || verified === true || verified === 'true');
    const name = (isEmail ? personName.toLowerCase() : personName).safeParse(isUsable ? given : sub);
    const roles = roleNames.safeParse(listed);
    if (!name.success) throw notAccepted('the name that the identity provider gives cannot be recorded');
    if (!roles.success) throw notAccepted(`the claim ${rolesClaim} is neither a text nor a list of texts`);
    return { name: name.data, roles: roles.data };
  }
}

async function discover({ issuer, clientId, clientSecret }: OpenIdSettings): Promise<client.Configuration> {
  const url = new URL(issuer);
  const [basic, post] = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)];
  // What providers expect by default, unless they say that they don't.
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
  const configuration = await client.discovery(url, clientId, undefined, authenticate, {
    timeout: TIMEOUT_SECONDS,
    execute: [
      // Also for tokens that came over TLS.
      client.enableNonRepudiationChecks,
      // The settings allow it only in a test.
      ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  });
  // The library excepts providers whose metadata is for all tenants: any of them could sign people in.
  if (new URL(configuration.serverMetadata().issuer).href !== url.href)
    throw new Error('the metadata is of another issuer');
  return configuration;
}

function notAccepted(detail: string): Problem {
  return new Problem('sign-in-not-accepted', detail);
}

function unreachable(): Problem {
  return new Problem('identity-provider-unavailable', "the identity provider can't be reached", {
    retryAfterSeconds: TIMEOUT_SECONDS,
  });
}

const coded = z.object({ code: z.string().regex(/^[A-Z_]{1,64}$/) });

function codeOf(error: unknown): string | undefined {
  return coded.safeParse(error).data?.code;
}

/** `fetch` throws a `TypeError` if there is no response. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError || codeOf(error) === 'OAUTH_TIMEOUT';
}
