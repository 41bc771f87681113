/** The client of the provider's API. It does not depend on Temporal or on the payout workflows. */

export * from '../contract/provider-records.ts';
export { authorizationUrl, PaymentsClient } from './client.ts';
export * from './errors.ts';
export {
  createNotificationVerifier,
  isJsonPointer,
  type Notification,
  type NotificationFields,
  NotificationFormatError,
  type NotificationVerifier,
  parseNotification,
} from './notification.ts';
export { type ApiOperation, creates, OPERATION_NAMES, OPERATIONS } from './operations.ts';
export type {
  CallEnd,
  CallGate,
  PaymentsClientOptions,
  TokenKind,
  TokenRequest,
  TokenSource,
} from './options.ts';
export { createSigner } from './signing.ts';
export {
  type Exchange,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from './transport.ts';
