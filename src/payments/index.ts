/** The client of the provider's API. It does not depend on Temporal or on the payout workflows. */

export * from '../domain/provider-records.ts';
export type { AccountsRequest } from './accounts.ts';
export { PaymentsClient } from './client.ts';
export * from './errors.ts';
export {
  createNotificationVerifier,
  type NotificationResult,
  type NotificationVerdict,
  type NotificationVerifier,
} from './notification.ts';
export {
  isJsonPointer,
  type Notification,
  type NotificationFields,
  NotificationFormatError,
  parseNotification,
} from './notification-body.ts';
export { type AuthorizationLink, type AuthorizationPage, authorizationUrl } from './oauth.ts';
export type { ApiOperation, Effect, OperationName } from './operations.ts';
export { OPERATIONS } from './operations.ts';
export type {
  CallEnd,
  CallEvent,
  CallGate,
  CallOptions,
  PaymentsClientOptions,
  TokenKind,
  TokenSource,
} from './options.ts';
export { MASK, redact, safeUrl } from './redact.ts';
export { createSigner, type RequestSigner, type SignatureHeaders, type SigningInput } from './signing.ts';
export type { NotificationInput } from './standard-webhooks.ts';
export {
  type Attempt,
  type Exchange,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from './transport.ts';
