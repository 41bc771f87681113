/** How a user's attempt to authorize the application ended. */
export interface AuthorizationOutcome {
  /**
   * `NOT_STORED`: the provider issued tokens, but Temporal did not accept them. `UNCERTAIN`: the result at the provider
   * is unknown.
   */
  outcome: 'GRANTED' | 'DENIED' | 'EXPIRED' | 'REFUSED' | 'UNAVAILABLE' | 'UNCERTAIN' | 'NOT_STORED';
  /** The text of the page. */
  sentence: string;
  openId?: string;
}
