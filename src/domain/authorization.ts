/** How one attempt of a user to authorize the application ended. */
export interface AuthorizationOutcome {
  outcome: 'GRANTED' | 'DENIED' | 'EXPIRED' | 'REFUSED' | 'UNCERTAIN';
  /** What the page says. */
  sentence: string;
  openId?: string;
}

/** What the browser brought back. */
export interface CallBack {
  /** The hash of what binds the attempt to the browser that began it. */
  browser: string;
  /** The authorization code, sealed; absent when the user did not grant access. */
  code?: string | undefined;
}
