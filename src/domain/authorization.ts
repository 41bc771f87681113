/** How one attempt of a user to authorize the application ended. */
export interface AuthorizationOutcome {
  /** `NOT_STORED`: the provider gave tokens, and Temporal did not take them. `UNCERTAIN`: nobody knows what the provider did. */
  outcome: 'GRANTED' | 'DENIED' | 'EXPIRED' | 'REFUSED' | 'UNAVAILABLE' | 'UNCERTAIN' | 'NOT_STORED';
  /** What the page says. */
  sentence: string;
  openId?: string;
}
