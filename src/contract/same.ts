/**
 * `true` if both types are assignable to each other, otherwise `never`. Checks schemas against types of `src/domain`.
 */
export type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;
