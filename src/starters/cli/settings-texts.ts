/** What to do about shared settings that do not count. */
export const MISSING =
  'missing: no create call is sent. Set them: settings --approvals FILE|none --recovered-at never --by NAME --reason TEXT';
export const FAILED_OVER =
  'from before a failover of the namespace: no create call is sent. Set the time: settings --recovered-at TIME --by NAME --reason TEXT';
