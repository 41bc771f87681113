/** How the desk signs people in by an OpenID provider. */
import { z } from 'zod';
import { ConfigError } from './environment.ts';
import { httpUrl, optionalText, secret } from './values.ts';

/** `https://payouts.example`, as browsers send it. */
const origin = httpUrl.refine(
  (url) => URL.canParse(url) && new URL(url).origin === url,
  'must be an origin without a path, such as https://payouts.example',
);

const WITH_ISSUER = 'with `PAYOUTS_DESK_OIDC_ISSUER`';

export const deskSignInShape = {
  PAYOUTS_DESK_URL: origin.optional().meta({
    description:
      "The origin at which people open the desk, such as `https://payouts.example`. The desk then serves no other host. Register `/desk/sign-in/callback` there as the client's redirect URI.",
    requiredWhen: WITH_ISSUER,
  }),
  PAYOUTS_DESK_OIDC_ISSUER: httpUrl
    .optional()
    .describe(
      'The issuer URL of the OpenID provider that [signs people in](desk.md#sign-in-by-an-openid-provider), such as `https://id.example`. The desk then accepts no keys, and only `roles` in `PAYOUTS_API_KEYS_FILE`.',
    ),
  PAYOUTS_DESK_OIDC_CLIENT_ID: optionalText("The desk's client ID at the OpenID provider.").meta({
    requiredWhen: WITH_ISSUER,
  }),
  PAYOUTS_DESK_OIDC_CLIENT_SECRET: secret.optional().meta({
    description: "The client's secret.",
    requiredWhen: WITH_ISSUER,
  }),
  PAYOUTS_DESK_OIDC_SCOPES: z
    .string()
    .regex(
      /^openid( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
      'must begin with openid, and have one space between scopes',
    )
    .default('openid email')
    .meta({
      description: 'The scopes that the ID token needs to have both claims, separated by spaces.',
      valueType: 'text',
    }),
  PAYOUTS_DESK_OIDC_ROLES_CLAIM: z
    .string()
    .default('groups')
    .describe("The claim of the ID token that lists a person's roles: a text or a list of texts."),
  PAYOUTS_DESK_OIDC_NAME_CLAIM: z
    .string()
    .default('email')
    .describe(
      'The claim of the ID token that names a person in decisions. If it is absent, and for an `email` whose `email_verified` is false, `sub` does.',
    ),
};

type Values = z.output<z.ZodObject<typeof deskSignInShape>>;

export interface OpenIdSettings {
  /** Where the desk is. */
  origin: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string;
  rolesClaim: string;
  nameClaim: string;
}

/** Undefined without an OpenID provider. Throws `ConfigError`. */
export function openIdSettings(
  values: Values & { PAYMENTS_ENVIRONMENT: string; PAYOUTS_DESK_USER_HEADER?: string | undefined },
): OpenIdSettings | undefined {
  const {
    PAYOUTS_DESK_URL: url,
    PAYOUTS_DESK_OIDC_ISSUER: issuer,
    PAYOUTS_DESK_OIDC_CLIENT_ID: clientId,
    PAYOUTS_DESK_OIDC_CLIENT_SECRET: clientSecret,
  } = values;
  if (issuer === undefined) return undefined;
  const needed = {
    PAYOUTS_DESK_URL: url,
    PAYOUTS_DESK_OIDC_CLIENT_ID: clientId,
    PAYOUTS_DESK_OIDC_CLIENT_SECRET: clientSecret,
  };
  const problems = Object.entries(needed).flatMap(([name, value]) =>
    value === undefined ? [`${name}: is missing: PAYOUTS_DESK_OIDC_ISSUER needs it`] : [],
  );
  for (const [name, text] of Object.entries({ PAYOUTS_DESK_URL: url, PAYOUTS_DESK_OIDC_ISSUER: issuer }))
    if (values.PAYMENTS_ENVIRONMENT !== 'test' && text?.startsWith('http:'))
      problems.push(`${name}: must be https unless PAYMENTS_ENVIRONMENT=test`);
  if (values.PAYOUTS_DESK_USER_HEADER !== undefined)
    problems.push('PAYOUTS_DESK_USER_HEADER: cannot be set with PAYOUTS_DESK_OIDC_ISSUER');
  if (problems.length > 0 || !url || !clientId || !clientSecret) throw new ConfigError(problems);
  return {
    origin: url,
    issuer,
    clientId,
    clientSecret,
    scopes: values.PAYOUTS_DESK_OIDC_SCOPES,
    rolesClaim: values.PAYOUTS_DESK_OIDC_ROLES_CLAIM,
    nameClaim: values.PAYOUTS_DESK_OIDC_NAME_CLAIM,
  };
}
