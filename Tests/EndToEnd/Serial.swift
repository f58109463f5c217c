// SPDX-License-Identifier: Apache-2.0

import Testing

// End-to-end tests run in four lanes in parallel. Within a lane, one test runs at a time, because each test plays a
// program in real time. Tests that share a part of the machine, other than their own files and ports, are in the same
// lane. All lanes take about the same time. The time limit of a test is for hangs, and longer than a busy machine
// needs.

/// The lane for outputs, copied packets, renditions, copied sources, stitched files, and the command itself.
@Suite("End to end: outputs", .serialized, .timeLimit(.minutes(10)))
enum Serial {}

/// The lane for inputs, failing peers, players, and the end of relay.
@Suite("End to end: peers", .serialized, .timeLimit(.minutes(10)))
enum SerialPeers {}

/// The lane for recordings and disks, which uses all loop devices alone, and for switches between inputs.
@Suite("End to end: recordings", .serialized, .timeLimit(.minutes(10)))
enum SerialRecordings {}

/// The lane for files, the API, programs of several sources, and clips.
@Suite("End to end: shows", .serialized, .timeLimit(.minutes(10)))
enum SerialShows {}
