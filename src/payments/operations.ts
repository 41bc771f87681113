/** Every operation of the provider's API: its method, envelope, effect and token. */

/** The format of an operation's response (spec: Conventions). */
export type EnvelopeStyle =
  /** `/v2/…`, `/v3/…`: `{code: 0, message, data}`. */
  | 'A'
  /** `/v1/mid-open-api/…`: `{code: 200, message, data}`. */
  | 'B'
  /** `/v1/accounts`, `/v1/payments`, httpbin: the spec shows the bare record. An envelope is accepted too. */
  | 'plain';

/**
 * What a lost response means. A `read` may be repeated. `once` must not be repeated blindly (single-use code, refresh
 * token, new account). A `create` moves money.
 */
export type Effect = 'read' | 'once' | 'create';

/** The setting that selects the token: `gateway` or `trade`. `none`: the operation needs no token. */
export type TokenPlace = 'none' | 'gateway' | 'trade';

interface OperationRules {
  method: 'GET' | 'POST';
  style: EnvelopeStyle;
  effect: Effect;
  token: TokenPlace;
}

export const OPERATIONS = {
  ping: { method: 'GET', style: 'plain', effect: 'read', token: 'gateway' },
  exchangeCode: { method: 'POST', style: 'A', effect: 'once', token: 'none' },
  refreshUserToken: { method: 'POST', style: 'A', effect: 'once', token: 'none' },
  applicationToken: { method: 'GET', style: 'A', effect: 'read', token: 'none' },
  openReceivingAccount: { method: 'POST', style: 'plain', effect: 'once', token: 'gateway' },
  receivingAccountBalance: { method: 'GET', style: 'plain', effect: 'read', token: 'gateway' },
  receivingAccountDetail: { method: 'GET', style: 'plain', effect: 'read', token: 'gateway' },
  quote: { method: 'POST', style: 'plain', effect: 'read', token: 'gateway' },
  createPayout: { method: 'POST', style: 'A', effect: 'create', token: 'gateway' },
  payoutOrder: { method: 'GET', style: 'A', effect: 'read', token: 'gateway' },
  tradeResult: { method: 'POST', style: 'B', effect: 'read', token: 'trade' },
  tradeDetail: { method: 'POST', style: 'B', effect: 'read', token: 'trade' },
  accounts: { method: 'POST', style: 'B', effect: 'read', token: 'trade' },
} as const satisfies Record<string, OperationRules>;

export type ApiOperation = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS).filter(
  (name): name is ApiOperation => name in OPERATIONS,
);

/** Every operation name in errors and events. `authorizationUrl` only builds a link, without a call. */
export type OperationName = ApiOperation | 'authorizationUrl';

/** Whether the call creates something at the provider: an order, or a receiving account. */
export function creates(operation: OperationName): boolean {
  return operation === 'createPayout' || operation === 'openReceivingAccount';
}

export function rulesOf(operation: ApiOperation): OperationRules {
  return OPERATIONS[operation];
}
