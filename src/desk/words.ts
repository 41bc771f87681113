/** Public codes in words, as the reference explains them. */
import {
  ENDPOINT_ATTENTION,
  type Explained,
  FOLLOW_UP_ATTENTION,
  OPENING_ATTENTION,
  PAYOUT_ATTENTION,
  TOKEN_ATTENTION,
  WORKFLOW_ATTENTION,
} from '../contract/attention-codes.ts';
import { type Html, html, isolated, label, prose } from './html.ts';

export interface CodedMessage {
  code: string;
  message: string;
}

type Explanations = Readonly<Record<string, Explained>>;

export const ATTENTION = {
  payout: PAYOUT_ATTENTION,
  followUp: FOLLOW_UP_ATTENTION,
  opening: OPENING_ATTENTION,
  token: TOKEN_ATTENTION,
  endpoint: ENDPOINT_ATTENTION,
  workflow: WORKFLOW_ATTENTION,
} as const satisfies Record<string, Explanations>;

export type AttentionKind = keyof typeof ATTENTION;

/** Each reason: its message, what it means and what to do. */
export function attentionReasons(kind: AttentionKind, reasons: readonly CodedMessage[]): Html {
  const explanations: Explanations = ATTENTION[kind];
  return html`<ul class="reasons">${reasons.map((one) => html`<li>${explained(one, explanations)}</li>`)}</ul>`;
}

/** The code, the message, and the explanation of the code if it has one. */
export function explained({ code, message }: CodedMessage, explanations: Explanations): Html {
  const known = Object.hasOwn(explanations, code) ? explanations[code] : undefined;
  return html`<strong title="${code}">${label(code)}.</strong> ${isolated(message)}
${known && html`<p>${prose(known.meaning)} <em>What to do:</em> ${prose(known.action)}</p>`}`;
}
