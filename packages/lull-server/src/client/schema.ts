/**
 * Generated from the OpenAPI document (`GET /openapi.json`) with openapi-typescript: do not edit it,
 * `npm run generate:client` writes it anew.
 *
 * @module
 */
export interface paths {
  "/healthz": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The process is alive */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Alive */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/metrics": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Prometheus metrics
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Metrics */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "text/plain": string;
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/openapi.json": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** This document */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description OpenAPI 3.1 */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": Record<string, never>;
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/readyz": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** The store answers */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Ready */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/authors/{author}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Erase what one author wrote, in all conversations
     * @description Role: operate.
     */
    delete: {
      parameters: {
        query?: {
          /** @description Only in conversations whose ids begin so */
          prefix?: string;
          /** @description Also leave no trace in the store's files; may take as long as copying them */
          scrub?: boolean;
        };
        header?: never;
        path: {
          /** @description The author's id, percent-encoded */
          author: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done, but for those that are busy */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["AuthorErased"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/chat/events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Web chat: what happens, for the visitor: nothing lost, nothing doubled when resumed; ends with the token */
    get: {
      parameters: {
        query?: {
          /** @description Events after this seq; default: from now on */
          after?: number;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Server-Sent Events */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "text/event-stream": string;
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/chat/history": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** Web chat: what the visitor wrote and was told, newest page first */
    get: {
      parameters: {
        query?: {
          /** @description `next` of the page before */
          before?: number;
          /** @description About how many; default 50 */
          limit?: number;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description A page */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["ChatHistory"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/chat/messages": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Web chat: hand in a message */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["ChatMessage"];
        };
      };
      responses: {
        /** @description Durable */
        202: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["ChatAccepted"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/chat/token": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Web chat: become an anonymous visitor, or, with an anonymous visitor's token, its next token */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Nothing"];
        };
      };
      responses: {
        /** @description It */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["ChatToken"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/chat/typing": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Web chat: the visitor is typing */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["ChatTyping"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Conversations, a page at a time
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: {
          /** @description Only those that are not at rest */
          active?: boolean;
          /** @description `next` of the page before */
          after?: string;
          /** @description Only those in which that author wrote one of the newest 200 entries; looks at a bounded number */
          author?: string;
          /** @description Only those a human answers */
          handedOff?: boolean;
          /** @description Default 50 */
          limit?: number;
          /** @description Only those with a turn that was given up */
          parked?: boolean;
          /** @description Only ids that begin so */
          prefix?: string;
          /** @description Only those; `overdue`: a timer rang 5 s ago and nobody came, or the longest wait is over and nobody answers. Where no index helps, a bounded number is looked at, and `next` goes on */
          state?: "waiting" | "answering" | "delivering" | "parked" | "handed-off" | "overdue" | "resting";
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description A page */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Conversations"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * One conversation
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description It */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Conversation"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    /**
     * Erase everything of a conversation
     * @description Role: operate.
     */
    delete: {
      parameters: {
        query?: {
          /** @description Also leave no trace in the store's files; may take as long as copying them */
          scrub?: boolean;
        };
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description scrub: erased */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Erased"];
          };
        };
        /** @description Erased */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Its events: nothing lost, nothing doubled when resumed
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: {
          /** @description Events after this seq; default: from now on */
          after?: number;
        };
        header?: {
          /** @description The same, sent by clients that reconnect */
          "Last-Event-ID"?: number;
        };
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Server-Sent Events */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "text/event-stream": string;
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/explain": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * What it is doing and why, in plain sentences
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Sentences */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Explanation"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/flush": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Answer now
     * @description Role: send.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["FlushCall"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/handoff": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * A human answers from now on
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Handoff"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/human-replies": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * What a human answered
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["HumanReply"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/log": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Its log, a page at a time, oldest first
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: {
          /** @description The entries just below that seq */
          before?: number;
          /** @description First seq wanted */
          from?: number;
          /** @description Default 100 */
          limit?: number;
        };
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description A page */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Log"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/messages/{message}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * The author took a message back
     * @description Role: send.
     */
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
          /** @description The message's id, percent-encoded */
          message: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Retraction"];
        };
      };
      responses: {
        /** @description What became of it */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Changed"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    options?: never;
    head?: never;
    /**
     * The author edited a message
     * @description Role: send.
     */
    patch: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
          /** @description The message's id, percent-encoded */
          message: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["Edit"];
        };
      };
      responses: {
        /** @description What became of it */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Changed"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    trace?: never;
  };
  "/v1/conversations/{id}/report": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Its record and newest entries for a bug report: without texts, names and ids; `lull/testing` replays it
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description It, with instants in milliseconds */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Report"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/reset": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Forget what is unanswered
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["OperatorCall"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/resume": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * The bot answers again
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Resume"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/retry": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Bring a turn that was given up back to be answered
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["OperatorCall"];
        };
      };
      responses: {
        /** @description How many messages were revived */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Revived"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/send": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * A message of the bot's own accord
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["Send"];
        };
      };
      responses: {
        /** @description Queued */
        202: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Sent"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/settings": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /**
     * How this conversation is to be treated, before the bot's own settings
     * @description Role: operate.
     */
    put: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["ConversationSettings"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/conversations/{id}/typing": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * The user is typing
     * @description Role: send.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description The conversation's id, percent-encoded */
          id: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Typing"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Events of all conversations, live only
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Server-Sent Events */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "text/event-stream": string;
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/health": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * What this process did over time, and how the whole store stands
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: {
          /** @description How far back; default 60 */
          minutes?: number;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description It */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Health"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/messages": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Hand in one message, or an array of them
     * @description Role: send.
     */
    post: {
      parameters: {
        query?: {
          /** @description Seconds to wait for the reply that covers the message; one message only */
          wait?: number;
        };
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["Message"] | components["schemas"]["Messages"];
        };
      };
      responses: {
        /** @description wait: the reply came */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Reply"];
          };
        };
        /** @description Durable; for an array one item per message, in order */
        202: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json":
              | components["schemas"]["Accepted"]
              | (components["schemas"]["Accepted"] | components["schemas"]["Rejected"])[];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/pause": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Is the whole store paused?
     * @description Role: read.
     */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description The pause, or null */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Pause"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    /**
     * Every process on the store takes no new turn and delivers nothing anew; receiving goes on
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["PauseCall"];
        };
      };
      responses: {
        /** @description The pause that stands */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Pause"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/session": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** What the page that asks may do */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description It */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Session"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    /** Exchange a key for a cookie: for pages, 12 hours long */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["SessionCall"];
        };
      };
      responses: {
        /** @description What the page may do; with Set-Cookie */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Session"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    /** Forget the cookie */
    delete: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /** A turn, for the webhook that answers it: still wanted? newer messages? effects? */
    get: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody?: never;
      responses: {
        /** @description How it stands */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Turn"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/absorb": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Take newer messages into the turn */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Nothing"];
        };
      };
      responses: {
        /** @description All messages the answer is to cover */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Absorbed"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/effects/{key}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    /** A side effect, done once: begin it, then say what came of it */
    put: {
      parameters: {
        query?: {
          /** @description Seconds to wait until the user has been quiet */
          wait?: number;
        };
        header?: never;
        path: {
          /** @description The side effect's name within the turn, percent-encoded */
          key: string;
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["TurnEffect"];
        };
      };
      responses: {
        /** @description What to do, or what was recorded */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Effect"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/fail": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** No answer this time: try again, or give up */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["TurnFailure"];
        };
      };
      responses: {
        /** @description What comes next */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Failed"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/parts": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** Say a part now; the first one seals the turn */
    post: {
      parameters: {
        query?: {
          /** @description Seconds to wait for quiet, and then for what the channel says */
          wait?: number;
        };
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["TurnPart"];
        };
      };
      responses: {
        /** @description What became of it */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Said"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/renew": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** A side effect takes long, and is still under way */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Nothing"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/reply": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** The answer of a webhook that had answered 202; 409: superseded, answered or lost; 425: too early */
    post: {
      parameters: {
        query?: {
          /** @description Seconds to wait until the user has been quiet */
          wait?: number;
        };
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody: {
        content: {
          "application/json": components["schemas"]["TurnReply"];
        };
      };
      responses: {
        /** @description Committed */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Committed"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/turns/{token}/seal": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /** From here on newer messages do not discard the answer */
    post: {
      parameters: {
        query?: {
          /** @description Seconds to wait until the user has been quiet */
          wait?: number;
        };
        header?: never;
        path: {
          /** @description `turn.token` of the request that the webhook was sent: whoever has it may act for that attempt */
          token: string;
        };
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["Nothing"];
        };
      };
      responses: {
        /** @description Done */
        204: {
          headers: {
            [name: string]: unknown;
          };
          content?: never;
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/v1/unpause": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Lift the pause of the whole store
     * @description Role: operate.
     */
    post: {
      parameters: {
        query?: never;
        header?: never;
        path?: never;
        cookie?: never;
      };
      requestBody?: {
        content: {
          "application/json": components["schemas"]["UnpauseCall"];
        };
      };
      responses: {
        /** @description Lifted */
        200: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/json": components["schemas"]["Unpaused"];
          };
        };
        /** @description A problem (RFC 9457) */
        default: {
          headers: {
            [name: string]: unknown;
          };
          content: {
            "application/problem+json": components["schemas"]["Problem"];
          };
        };
      };
    };
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    Absorbed: {
      messages: unknown[];
    };
    Accepted: {
      conversation: string;
      duplicate: boolean;
      id: string;
      /** @description The answer may go out then */
      quietAt: string | null;
      /** @description The model may start then */
      startAt: string | null;
      /** @enum {string} */
      status: "accepted" | "duplicate";
      /** @description Arrival counter of the conversation */
      version: number;
    };
    AuthorErased: {
      /** @description Conversations to repeat the call for */
      busy: string[];
      /** @description Conversations erased whole */
      erased: number;
      left: string | null;
      /** @description Shared conversations that lost the author's content */
      rewritten: number;
    };
    Changed: {
      conversation: string;
      id: string;
      message: string;
      /** @enum {string} */
      status: "accepted" | "duplicate" | "unchanged" | "ignored";
      version: number;
    };
    ChatAccepted: {
      id: string;
      /** @enum {string} */
      status: "accepted" | "duplicate";
    };
    ChatHistory: {
      /** @description Oldest first */
      events: ({
        id: string;
        seq: number;
        /** @enum {string} */
        type: "message" | "edited" | "retracted" | "part";
      } & {
        [key: string]: unknown;
      })[];
      /** @description Pass as `before` for what is older; null: nothing is */
      next: number | null;
      /** @description Pass as `after` to the events */
      seq: number;
      /** @enum {string} */
      state: "resting" | "waiting" | "answering" | "human";
    };
    ChatMessage: {
      /** @description Made by the page: the same message sent twice is one message */
      id: string;
      /**
       * Format: date-time
       * @description When it was written, on the visitor's clock
       */
      sentAt?: string;
      text: string;
    };
    ChatToken: {
      /** Format: date-time */
      expiresAt: string;
      token: string;
    };
    ChatTyping: {
      on?: boolean;
    };
    Committed: {
      /** @description The turn had been answered before; that answer stands */
      duplicate: boolean;
      /** @description null: silence */
      replyId: string | null;
      /** @constant */
      status: "committed";
    };
    Conversation: {
      answered: number;
      id: string;
      seq: number;
      /** @enum {string} */
      state: "resting" | "waiting" | "answering" | "delivering" | "handed-off" | "parked";
      version: number;
    } & {
      [key: string]: unknown;
    };
    Conversations: {
      conversations: unknown[];
      /** @description Pass as `after` for the next page; null at the end */
      next: string | null;
      /** @description How many were looked at, where no index led to exactly those */
      scanned?: number;
    };
    ConversationSettings: {
      /** @description Who does it, for the log */
      by?: string;
      /** @description How long to hear this user out; null: as the bot has it */
      debounce?:
        | (
            | ("snappy" | "balanced" | "patient")
            | {
                adaptive?: boolean;
                maxWaitMs?: number;
                quietMs?: number;
                startMs?: number | ("eager" | "frugal");
              }
          )
        | null;
      /** @description Makes the call repeatable */
      id?: string;
      /** @description What a newer message does to an answer in the making; null: as the bot has it */
      whenBusy?: ("interrupt" | "queue" | "steer") | null;
    };
    Edit: {
      /** @description Who wrote it; opaque */
      author?: string;
      /** @description The platform's id of the edit */
      id?: string;
      /** @description More of it is on the way; complete it with PATCH */
      incomplete?: boolean;
      metadata?: {
        [key: string]: unknown;
      };
      /** @description Give text or parts; a plain string is a text part */
      parts?: (
        | string
        | (
            | {
                text: string;
                /** @constant */
                type: "text";
              }
            | {
                filename?: string;
                mediaType: string;
                ref?: unknown;
                /** @constant */
                type: "file";
                url?: string;
              }
            | {
                data: unknown;
                /** @constant */
                type: "data";
              }
          )
      )[];
      /** @description This message's own quiet target; 0 = answer now */
      quietMs?: number;
      /**
       * Format: date-time
       * @description The platform's own time of the edit
       */
      sentAt?: string;
      text?: string;
    };
    Effect: {
      /** @description Hand it to the service you call */
      idempotencyKey?: string;
      /** @description It may have been done before, and nobody saw its end */
      inDoubt?: boolean;
      key: string;
      /**
       * @description run: yours to do · done: `value` is an earlier run's result · late: its turn had ended
       * @enum {string}
       */
      state: "run" | "done" | "recorded" | "late" | "dropped";
      value?: unknown;
    };
    Erased: {
      erased: boolean;
      /** @description What is left to do about traces; null: nothing */
      left: string | null;
    };
    Explanation: {
      sentences: string[];
    };
    Failed: {
      /** @enum {string} */
      status: "retry" | "parked" | "cut";
    };
    FlushCall: {
      /** @description Who does it, for the log */
      by?: string;
    };
    Handoff: {
      /** @enum {string} */
      backlog?: "answer" | "context";
      /** @description Who does it, for the log */
      by?: string;
      forMs?: number;
      /** @description Makes the call repeatable */
      id?: string;
    };
    Health: {
      buckets: ({
        answers: number;
        /** Format: date-time */
        at: string;
        /** @description Answers that the user's next message had crossed */
        crossed: number;
        /** @description The most by which the oldest timer was overdue */
        dueLagMs: number | null;
        /** @description Median and 95th percentile in milliseconds */
        wait: {
          [key: string]: [number, number] | null;
        };
      } & {
        [key: string]: unknown;
      })[];
      bucketSeconds: number;
      /** @description The process that was asked: `buckets` are what it did */
      owner: string;
      /** Format: date-time */
      sinceAt: string;
      /** @description Conversations of the whole store; null: not known */
      states: {
        [key: string]: number | null;
      };
      /** @description The store's own counts */
      stats: {
        working: number;
      } & {
        [key: string]: unknown;
      };
    } & {
      [key: string]: unknown;
    };
    HumanReply: {
      author?: string;
      /** @description Who does it, for the log */
      by?: string;
      /** @description Makes the call repeatable */
      id?: string;
      metadata?: {
        [key: string]: unknown;
      };
      /** @description Give text or parts; a plain string is a text part */
      parts?: (
        | string
        | (
            | {
                text: string;
                /** @constant */
                type: "text";
              }
            | {
                filename?: string;
                mediaType: string;
                ref?: unknown;
                /** @constant */
                type: "file";
                url?: string;
              }
            | {
                data: unknown;
                /** @constant */
                type: "data";
              }
          )
      )[];
      text?: string;
      /** @description The newest message the human had seen: its version or its id. Default: all */
      upTo?: number | string;
    };
    Log: {
      entries: ({
        /** Format: date-time */
        at: string;
        kind: string;
        seq: number;
      } & {
        [key: string]: unknown;
      })[];
    };
    Message: {
      /** @description Where and how to reply; handed to the channel as it is */
      address?: unknown;
      /** @description Who wrote it; opaque */
      author?: string;
      /**
       * @description Any string: lull never parses it
       * @example web:42
       */
      conversation: string;
      /** @description The platform's id: the same message sent twice is one message */
      id?: string;
      /** @description More of it is on the way; complete it with PATCH */
      incomplete?: boolean;
      metadata?: {
        [key: string]: unknown;
      };
      /** @description Give text or parts; a plain string is a text part */
      parts?: (
        | string
        | (
            | {
                text: string;
                /** @constant */
                type: "text";
              }
            | {
                filename?: string;
                mediaType: string;
                ref?: unknown;
                /** @constant */
                type: "file";
                url?: string;
              }
            | {
                data: unknown;
                /** @constant */
                type: "data";
              }
          )
      )[];
      /** @description This message's own quiet target; 0 = answer now */
      quietMs?: number;
      /** @description Id of the message this one answers */
      replyTo?: string;
      /**
       * Format: date-time
       * @description The platform's own time of the message
       */
      sentAt?: string;
      text?: string;
    };
    Messages: components["schemas"]["Message"][];
    Nothing: Record<string, never>;
    OperatorCall: {
      /** @description Who does it, for the log */
      by?: string;
      /** @description Makes the call repeatable */
      id?: string;
    };
    Pause: {
      paused:
        | ({
            by?: string;
            reason?: string;
            /** Format: date-time */
            sinceAt: string;
          } & {
            [key: string]: unknown;
          })
        | null;
      /** @description Conversations this process works on now */
      working: number;
    };
    PauseCall: {
      /** @description Who does it, for the log */
      by?: string;
      /** @description Why, for whoever looks */
      reason?: string;
    };
    Problem: {
      /**
       * Format: date-time
       * @description When the same request may succeed
       */
      at?: string;
      /** @description Stable; branch on it */
      code: string;
      detail: string;
      errors?: {
        detail: string;
        field: string;
      }[];
      /** @description The field to blame */
      field?: string;
      status: number;
      title: string;
      type: string;
    } & {
      [key: string]: unknown;
    };
    Rejected: {
      conversation: string;
      id: string;
      /** @constant */
      reason: "full";
      retryAfterMs: number;
      /** @constant */
      status: "rejected";
    };
    Reply: {
      conversation: string;
      /** @description Ids of the messages this reply answers */
      covers: string[];
      duplicate: boolean;
      id: string;
      /** @description Newer messages came when the reply could not be held back any more */
      overtaken: boolean;
      parts: unknown[];
      replyId: string | null;
      /**
       * @description How the turn ended; `delivered` is the usual one
       * @enum {string}
       */
      status:
        | "delivered"
        | "cut"
        | "failed"
        | "cancelled"
        | "removed"
        | "silent"
        | "human"
        | "dropped"
        | "context"
        | "parked";
      version: number;
    };
    Report: {
      conversation: string;
      log: ({
        atMs: number;
        kind: string;
        seq: number;
      } & {
        [key: string]: unknown;
      })[];
      record: {
        [key: string]: unknown;
      };
      /** @constant */
      schema: "lull-report/1";
      sentences: string[];
      versions: {
        [key: string]: string;
      };
    } & {
      [key: string]: unknown;
    };
    Resume: {
      /** @enum {string} */
      backlog?: "answer" | "context";
      /** @description Who does it, for the log */
      by?: string;
      /** @description Makes the call repeatable */
      id?: string;
    };
    Retraction: {
      /** @description Makes the call repeatable */
      id?: string;
    };
    Revived: {
      revived: number;
    };
    Said: {
      error?: string;
      index: number;
      replyId: string;
      /** @enum {string} */
      state: "queued" | "attempting" | "sent" | "failed" | "unknown" | "cancelled";
    };
    Send: {
      /** @description Default: the newest message's */
      address?: unknown;
      /** @description Who does it, for the log */
      by?: string;
      /** @description Makes the call repeatable */
      id?: string;
      metadata?: {
        [key: string]: unknown;
      };
      /** @description Give text or parts; a plain string is a text part */
      parts?: (
        | string
        | (
            | {
                text: string;
                /** @constant */
                type: "text";
              }
            | {
                filename?: string;
                mediaType: string;
                ref?: unknown;
                /** @constant */
                type: "file";
                url?: string;
              }
            | {
                data: unknown;
                /** @constant */
                type: "data";
              }
          )
      )[];
      text?: string;
      /** @enum {string} */
      when?: "after-turn" | "if-quiet";
    };
    Sent: {
      replyId: string;
      /** @enum {string} */
      status: "queued" | "duplicate" | "dropped";
    };
    Session: {
      /** @description The only bot it is good for; null: all */
      bot: string | null;
      /** @description The key's name; null where the server has no keys */
      name: string | null;
      roles: ("send" | "read" | "operate" | "inspect")[];
      /** @description false: of texts, files, values and names only their length is shown */
      texts: boolean;
    };
    SessionCall: {
      key: string;
    };
    Turn: {
      deadlineAt: string | null;
      effects: ({
        key: string;
        /** @enum {string} */
        state: "done" | "unknown";
        value?: unknown;
      } & {
        [key: string]: unknown;
      })[];
      /** @description Messages that came after `version` */
      newer: unknown[];
      /** @description The answer may be committed then; null: now, or never */
      quietAt: string | null;
      /** @description Why not: superseded, answered, handed-off, reset, lost */
      reason: string | null;
      reply:
        | ({
            open: boolean;
            parts: string[];
            replyId: string;
          } & {
            [key: string]: unknown;
          })
        | null;
      sealed: boolean;
      version: number | null;
      /** @description An answer is still wanted */
      wanted: boolean;
    } & {
      [key: string]: unknown;
    };
    TurnEffect:
      | {
          /** @description It only looks: need not wait for quiet */
          readOnly?: boolean;
          /** @constant */
          state: "begun";
        }
      | {
          /** @constant */
          state: "done";
          value: unknown;
        }
      | {
          /** @constant */
          state: "failed";
        };
    TurnFailure: {
      error: string;
      retryAfterMs?: number;
    };
    TurnPart: {
      /** @description Its place in the reply: makes the call repeatable. Default: the next one */
      index?: number;
      part?:
        | {
            text: string;
            /** @constant */
            type: "text";
          }
        | {
            filename?: string;
            mediaType: string;
            ref?: unknown;
            /** @constant */
            type: "file";
            url?: string;
          }
        | {
            data: unknown;
            /** @constant */
            type: "data";
          };
      text?: string;
    };
    TurnReply: {
      metadata?: {
        [key: string]: unknown;
      };
      /** @description Give text or parts; a plain string is a text part */
      parts?: (
        | string
        | (
            | {
                text: string;
                /** @constant */
                type: "text";
              }
            | {
                filename?: string;
                mediaType: string;
                ref?: unknown;
                /** @constant */
                type: "file";
                url?: string;
              }
            | {
                data: unknown;
                /** @constant */
                type: "data";
              }
          )
      )[];
      /** @description This conversation's own, from now on */
      settings?: {
        /** @description How long to hear this user out; null: as the bot has it */
        debounce?:
          | (
              | ("snappy" | "balanced" | "patient")
              | {
                  adaptive?: boolean;
                  maxWaitMs?: number;
                  quietMs?: number;
                  startMs?: number | ("eager" | "frugal");
                }
            )
          | null;
        /** @description What a newer message does to an answer in the making; null: as the bot has it */
        whenBusy?: ("interrupt" | "queue" | "steer") | null;
      };
      /**
       * @description No answer; after parts were said: nothing further
       * @constant
       */
      silent?: true;
      text?: string;
    };
    Typing: {
      forMs?: number;
      on?: boolean;
    };
    UnpauseCall: {
      /** @description Who does it, for the log */
      by?: string;
      /**
       * @description drop: what had waited when the pause began is not answered; after a restored backup
       * @enum {string}
       */
      waiting?: "answer" | "drop";
    };
    Unpaused: {
      /** @description Conversations whose waiting was dropped */
      dropped: string[];
      was:
        | ({
            /** Format: date-time */
            sinceAt: string;
          } & {
            [key: string]: unknown;
          })
        | null;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
