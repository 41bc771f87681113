/** That of package.json, which compiled programs don't have beside them. A test compares them. */
export const VERSION = '1.0.0';
