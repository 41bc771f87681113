/** The client of the provider's API. It does not depend on Temporal or on the payout workflows. */

export * from '../contract/provider-records.ts';
export { authorizationUrl } from './authorization-url.ts';
export { PaymentsClient } from './client.ts';
export * from './errors.ts';
export { createNotificationVerifier, type NotificationVerifier } from './notification.ts';
export {
  isJsonPointer,
  type Notification,
  type NotificationFields,
  NotificationFormatError,
  parseNotification,
} from './notification-body.ts';
export { type ApiOperation, creates, OPERATIONS } from './operations.ts';
export type { CallEnd, CallGate, PaymentsClientOptions, TokenKind, TokenSource } from './options.ts';
export { createSigner } from './signing.ts';
export {
  type Exchange,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from './transport.ts';
