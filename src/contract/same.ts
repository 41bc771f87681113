/** For schemas that stand beside a type of `src/domain`: does not compile when the two say different things. */
export type Same<One, Other> = [One, Other] extends [Other, One] ? true : never;
