/**
 * How people type, as distributions fitted to real chats: how many messages in a row, how long between them, how long
 * they are. From three corpora: *tangrams* (two people, desktop, milliseconds), *meetup* (MeetUp! two-player chats,
 * clp-research/meetup at d940f86, BSD-3-Clause, Copyright (c) 2018 davidschlangen; THE DATA IS PROVIDED "AS IS",
 * WITHOUT WARRANTY OF ANY KIND; neither the copyright holder's nor contributors' names may be used to endorse derived
 * products) and *irc* (a group channel). Fitted numbers only: no text, no names, no times of anybody.
 *
 * @module
 */

export interface TypingParameters {
  /** Chance of one more message after the first, the second, the third, and every later one. */
  continues: readonly [number, number, number, number];
  /** Seconds between two messages of a turn. */
  gapSeconds: Lognormal;
  /** Chance of one more message differs between people by a beta distribution. */
  person: { a: number; b: number };
  /** Characters of a message. */
  length: Lognormal;
}

/** `exp` of a normal distribution. */
export interface Lognormal {
  mu: number;
  sigma: number;
}

export const typingParameters = {
  tangrams: {
    continues: [0.172, 0.24, 0.241, 0.269],
    gapSeconds: { mu: 1.978, sigma: 0.887 },
    person: { a: 1.59, b: 8.9 },
    length: { mu: 2.968, sigma: 0.966 },
  },
  meetup: {
    continues: [0.326, 0.304, 0.322, 0.379],
    gapSeconds: { mu: 2.065, sigma: 0.846 },
    person: { a: 15.81, b: 33.14 },
    length: { mu: 2.743, sigma: 1.022 },
  },
  irc: {
    continues: [0.27, 0.28, 0.31, 0.379],
    gapSeconds: { mu: 2.233, sigma: 0.926 },
    person: { a: 3.2, b: 9.0 },
    length: { mu: 3.311, sigma: 1.153 },
  },
} as const satisfies Record<string, TypingParameters>;
