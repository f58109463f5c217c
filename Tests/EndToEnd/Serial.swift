// SPDX-License-Identifier: Apache-2.0

import Testing

/// All end-to-end tests: one at a time, because each measures a program that runs in real time.
@Suite("End to end", .serialized, .timeLimit(.minutes(2)))
enum Serial {}
