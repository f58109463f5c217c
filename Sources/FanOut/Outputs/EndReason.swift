// SPDX-License-Identifier: Apache-2.0

/// Why an output ends cleanly. Viewers need to know this: an HLS playlist says whether anything follows.
package enum EndReason: Sendable, Equatable {
    /// The program is over: its input ended, or its length was reached. Nothing follows.
    case programOver
    /// The output may continue later: a signal ended the process, the program failed, the output was paused or removed,
    /// or another address took over.
    case interrupted
}
